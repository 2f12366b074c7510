# Made for these tests, with the oddities of the Zoo's files.
Creator "delaylab"
graph [
  Network "Sample of
a network"
  directed 0
  node [
    id 0
    label "Ljubljana"
    Country "Slovenia"
    Longitude 14.51
    Internal 1
    Latitude 46.05
  ]
  node [ id 1 label "Maribor" Country "Slovenia" Longitude 15.65 Latitude 46.55 ]
  node [
    id 2
    label "None"
    Longitude 13.73
    Latitude "north"
  ]
  node [ id 3 label "None" Internal 0 ]  # outside
  node [ id 4 label "M&#252;nchen &amp; Umland" Longitude 11.58 Latitude 4.814E1 hyperedge 0 ]
  node [ label "without an id" ]
  edge [ source 0 target 1 LinkLabel "OC-192" LinkSpeed "10" LinkSpeedUnits "G" LinkSpeedRaw 1.0E10 ]
  edge [ source 0 target 1 LinkSpeed "155" LinkSpeedUnits "M" ]
  edge [ source 1 target 2 LinkSpeedRaw "fast" ]
  edge [ source 2 target 2 ]
  edge [ source 3 target 0 ]
  edge [ source 3 target 9 ]
  edge [ source 4 ]
  edge [
    source 4
    target 0
    graphics [ arrow "last" Line [ point [ x 1.0 y 2.0 ] point [ x 2.0 y 2.0 ] ] ]
  ]
]
