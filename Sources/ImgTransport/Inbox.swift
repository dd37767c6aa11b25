import ImgSystem
import ImgWire

/// Turns bytes into messages, and finds for each file the frame that it came with.
///
/// A sender hands the kernel a file together with the first bytes of its frame and with nothing
/// behind that frame. A stream socket keeps such a piece apart from what was sent after it, but not
/// from what was sent before (unix(7) ties descriptors to bytes; `unix_stream_read_generic` in Linux
/// stops after the piece). So the file is that of the last frame that begins in the bytes it came
/// with, and between two reads at most one file waits for the rest of its frame.
struct Inbox<Message: WireMessage> {
  private var decoder = FrameDecoder()
  private var coder = WireCoder()
  /// Where in the stream the next frame begins, and where what has arrived ends.
  private var frameStart = 0
  private var end = 0
  /// Files whose frames are not complete, with the places of the bytes they came with.
  private var waiting: [(file: PassedFile, arrival: Range<Int>)] = []

  var heldByteCount: Int { decoder.heldByteCount }

  /// Whether ``next()`` gives a message, or an error, without more bytes.
  var hasNext: Bool { decoder.hasNext || !areFilesInPlace }

  /// Whether a message has begun and is not complete.
  var isWithinMessage: Bool { decoder.isWithinFrame }

  /// Takes what one read has brought.
  mutating func append(_ bytes: [UInt8], _ file: PassedFile?) {
    decoder.append(bytes)
    if let file { waiting.append((file, end..<(end + bytes.count))) }
    end += bytes.count
  }

  /// The next message; `nil` when more bytes are needed.
  mutating func next() throws(ChannelError) -> Delivery<Message>? {
    guard let payload = try nextPayload() else {
      guard areFilesInPlace else { throw .passedFile(.misplaced) }
      return nil
    }
    let frame = frameStart..<(frameStart + Frame.headerByteCount + payload.count)
    frameStart = frame.upperBound
    let file = try takeFile(of: frame)
    let message = try message(from: payload)
    guard message.announcesFile == (file != nil) else {
      throw .passedFile(file == nil ? .missing : .unannounced)
    }
    return Delivery(message: message, file: file)
  }

  /// Whether each file came with the first bytes of the frame that is not complete.
  private var areFilesInPlace: Bool {
    waiting.allSatisfy { $0.arrival.contains(frameStart) }
  }

  /// The file that came with a frame, all of whose bytes are there.
  private mutating func takeFile(of frame: Range<Int>) throws(ChannelError) -> PassedFile? {
    guard let (file, arrival) = waiting.first, frame.upperBound >= arrival.upperBound else {
      return nil
    }
    guard arrival.contains(frame.lowerBound) else { throw .passedFile(.misplaced) }
    waiting.removeFirst()
    return file
  }

  private mutating func nextPayload() throws(ChannelError) -> ArraySlice<UInt8>? {
    do throws(FrameError) {
      return try decoder.next()
    } catch {
      throw .framing(error)
    }
  }

  private mutating func message(
    from payload: ArraySlice<UInt8>
  ) throws(ChannelError) -> Message {
    do throws(MessageError) {
      return try coder.message(Message.self, from: payload)
    } catch {
      throw .message(error)
    }
  }
}
