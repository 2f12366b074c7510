use std::fs::File;
use std::os::fd::AsFd;

use delaylab_os::files::descriptor;
use delaylab_proto::{read_frame, write_frame};

use super::*;

/// Build both ends of a trunk.
fn pair() -> (Mux, Mux) {
    let (here, there) = descriptor::stream_pair().unwrap();
    (Mux::new(here).unwrap(), Mux::new(there).unwrap())
}

fn session(mux: &mut Mux, channel: u16) -> File {
    let (ours, theirs) = descriptor::stream_pair().unwrap();
    mux.join(channel, theirs).unwrap();
    File::from(ours)
}

fn message(text: &str) -> Frame {
    Frame::new(Kind::Message, text)
}

#[test]
fn frames_of_two_sessions_reach_their_own() {
    let (mut host, mut guest) = pair();
    let channels = [host.free_channel().unwrap(), 7];
    let mut clients = channels.map(|channel| session(&mut host, channel));
    let mut servers = channels.map(|channel| session(&mut guest, channel));
    for (client, text) in clients.iter_mut().zip(["one", "two"]) {
        write_frame(client, &message(text)).unwrap();
    }
    host.turn(&[], None).unwrap();
    guest.turn(&[], None).unwrap();
    for (server, text) in servers.iter_mut().zip(["one", "two"]) {
        assert_eq!(read_frame(server).unwrap(), Some(message(text)));
    }
}

#[test]
fn a_channel_is_free_once_both_sides_have_closed_it() {
    let (mut host, mut guest) = pair();
    let client = session(&mut host, 1);
    let mut server = session(&mut guest, 1);
    drop(client);
    host.turn(&[], None).unwrap();
    assert_eq!(host.free_channel(), Some(2));
    guest.turn(&[], None).unwrap();
    assert!(read_frame(&mut server).unwrap().is_none());
    host.turn(&[], None).unwrap();
    assert_eq!((host.free_channel(), guest.free_channel()), (Some(1), Some(1)));
}

#[test]
fn what_was_sent_before_the_end_still_arrives() {
    let (mut host, mut guest) = pair();
    let mut client = session(&mut host, 3);
    let mut server = session(&mut guest, 3);
    let large = Frame::new(Kind::Stdout, vec![7; 3 << 20]);
    write_frame(&mut client, &message("go")).unwrap();
    let expected = large.clone();
    let writer = std::thread::spawn(move || write_frame(&mut server, &large).unwrap());
    let reader = std::thread::spawn(move || read_frame(&mut client).unwrap());
    while !reader.is_finished() {
        let soon = Some(Duration::from_millis(1));
        guest.turn(&[], soon).unwrap();
        host.turn(&[], soon).unwrap();
    }
    writer.join().unwrap();
    assert_eq!(reader.join().unwrap(), Some(expected));
}

#[test]
fn on_a_limited_trunk_no_more_is_under_way_than_the_other_side_has_read() {
    let (here, mut there) = descriptor::stream_pair().unwrap();
    let mut host = Mux::new(here).unwrap();
    host.limit(100);
    let mut client = session(&mut host, 1);
    let whole = Frame { channel: 1, ..Frame::new(Kind::Stdin, vec![7; 1000]) };
    write_frame(&mut client, &Frame { channel: 0, ..whole.clone() }).unwrap();
    descriptor::set_nonblocking(there.as_fd()).unwrap();
    let mut came = Vec::new();
    let soon = Some(Duration::from_millis(1));
    while came.len() < 1007 {
        host.turn(&[], soon).unwrap();
        let mut piece = [0; 4096];
        let count = descriptor::read_some(there.as_fd(), &mut piece).unwrap().unwrap_or(0);
        assert!(count <= 100, "{count} bytes are under way");
        came.extend(&piece[..count]);
        if count > 0 {
            let mut stream = File::from(there);
            write_frame(&mut stream, &tell_read(count)).unwrap();
            there = stream.into();
        }
    }
    assert_eq!(read_frame(&mut &came[..]).unwrap(), Some(whole));
}

#[test]
fn a_trunk_has_ended_also_for_who_writes_to_it_first() {
    let (mut host, guest) = pair();
    let mut client = session(&mut host, 1);
    write_frame(&mut client, &message("late")).unwrap();
    drop(guest);
    // The client's frame is sent in the same turn in which the end is read.
    assert!(host.turn(&[], None).unwrap().ended);
}

#[test]
fn what_came_before_the_end_is_read_also_by_who_writes_first() {
    let (mut host, mut guest) = pair();
    guest.send(&message("last")).unwrap();
    drop(guest);
    host.send(&message("late")).unwrap();
    let turn = host.turn(&[], None).unwrap();
    assert_eq!((turn.new, turn.ended), (vec![message("last")], false));
    assert!(host.turn(&[], None).unwrap().ended);
}

#[test]
fn a_trunk_that_takes_nothing_and_says_nothing_has_ended() {
    let (unread, output) = io::pipe().unwrap();
    let (input, _kept) = io::pipe().unwrap();
    let mut host = Mux::on(Line::new(input.into(), output.into()).unwrap());
    drop(unread);
    host.send(&message("late")).unwrap();
    assert!(host.turn(&[], None).unwrap().ended);
}

#[test]
fn two_muxes_do_not_answer_each_others_closes_for_ever() {
    let (mut host, mut guest) = pair();
    host.send(&closing_of(9)).unwrap();
    assert_eq!(guest.turn(&[], None).unwrap().new, [closing_of(9)]);
    guest.send(&closing_of(9)).unwrap();
    assert_eq!(host.turn(&[], None).unwrap().new.len(), 1);
    assert!(guest.turn(&[], Some(Duration::from_millis(20))).unwrap().new.is_empty());
}

#[test]
fn a_frame_that_stops_in_the_middle_ends_the_trunk() {
    let (here, there) = descriptor::stream_pair().unwrap();
    let (mut host, mut there) = (Mux::new(here).unwrap(), File::from(there));
    host.expect_whole_frames(Duration::from_millis(50));
    write_frame(&mut there, &message("whole")).unwrap();
    assert_eq!(host.turn(&[], None).unwrap().new.len(), 1);
    assert!(host.turn(&[], Some(Duration::from_millis(60))).is_ok(), "no frame has begun");
    std::io::Write::write_all(&mut there, b"\0\0\0\x04\x01\0\x03begun").unwrap();
    assert!(host.turn(&[], None).unwrap().new.is_empty());
    let failure = host.turn(&[], None).err().unwrap();
    assert!(failure.why.contains("stopped in the middle of a frame"), "{failure}");
}

#[test]
fn a_frame_on_an_unknown_channel_is_the_callers() {
    let (mut host, mut guest) = pair();
    host.send(&Frame { channel: 9, ..message("new") }).unwrap();
    let turn = guest.turn(&[], None).unwrap();
    assert_eq!(turn.new, [Frame { channel: 9, ..message("new") }]);
    drop(host);
    assert!(guest.turn(&[], None).unwrap().ended);
}
