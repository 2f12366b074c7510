Creator	"yFiles"
Version	"2.17"
graph
[
	hierarchic	1
	label	""
	directed	1
	node
	[
		id	0
		label	"Core"
		graphics
		[
			x	10.0
			y	-20.5
			w	30.0
			type	"rectangle"
		]
	]
	node
	[
		id	1
		label	"Site"
		isGroup	1
	]
	node
	[
		id	2
		label	"Edge"
		graphics
		[
			x	40.0
			y	0
		]
		gid	1
	]
	edge
	[
		source	0
		target	2
		delay	2.5
		weight	3
		bandwidth	100
	]
	edge
	[
		source	2
		target	0
		delay	4
		weight	3
		bandwidth	100
	]
]
