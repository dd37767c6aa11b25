import ImgSystem
import ImgTransport
import ImgWire

/// A message that goes either way, with or without a file.
struct Note: WireMessage, Equatable {
  static let sender = "test"

  let text: String
  var announcesFile = false

  /// The frame of a note.
  static func frame(_ text: String, announcesFile: Bool) throws -> [UInt8] {
    try WireCoding.frame(Note(text: text, announcesFile: announcesFile))
  }
}

/// One end of a connection over which notes go.
typealias NoteChannel = Channel<Note, Note>

extension NoteChannel {
  static func pair() throws -> (NoteChannel, NoteChannel) {
    var pair = try UnixSocket.pair()
    return (try Channel(pair.takeFirst()), try Channel(pair.takeSecond()))
  }

  /// Sends a note, and beside it a file that holds its text if it is to have one.
  func send(_ text: String, withFile: Bool) throws {
    let file = withFile ? try MemoryFile(containing: Array(text.utf8)).file : nil
    try send(Note(text: text, announcesFile: withFile), with: file)
  }
}

extension Delivery<Note> {
  /// Whether the file is that which ``NoteChannel/send(_:withFile:)`` has sent with the note.
  var isWhole: Bool {
    get throws {
      guard message.announcesFile else { return file == nil }
      let bytes = Array(message.text.utf8)
      return try file.map(MemoryFile.init)?.contents(byteCount: bytes.count) == bytes
    }
  }
}
