import Glibc
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire

/// A decoder that a test plays, on a thread of its own.
final class ScriptedDecoder {
  /// Plays a decoder from its start to its end, which it returns; `nil` if it closes its channel and
  /// does not end by itself.
  typealias Script = @Sendable (Role) throws -> DecoderExit.End?

  /// A number that no process has.
  static let noProcess: Int32 = 1 << 30

  /// - Parameter processID: the process whose time counts as the decoder's.
  static func ready(processID: Int32 = noProcess) -> DecoderReady {
    DecoderReady(processID: processID, sandbox: SandboxReport())
  }

  /// The decoder's side of the connection.
  final class Role {
    let channel: Channel<DecoderOrder, DecoderReport>
    let limits: Limits
    let thumbnail: ThumbnailMemory
    let picture: PictureMemory

    init(_ descriptor: consuming OwnedDescriptor) throws {
      channel = try Channel(descriptor)
      let first = try channel.nextDelivery(until: nil)
      let second = try channel.nextDelivery(until: nil)
      guard case .start(let start) = first.message, let thumbnailFile = first.file,
        let pictureFile = second.file
      else { throw Unexpected() }
      limits = start.limits
      thumbnail = try ThumbnailMemory(mapping: thumbnailFile)
      picture = try PictureMemory(mapping: pictureFile)
    }

    /// Says that it is ready, and waits for a picture.
    func takePicture() throws -> DecodeRequest {
      try channel.send(.ready(ScriptedDecoder.ready()))
      return try nextPicture()
    }

    /// Says that it is ready, and waits for a picture whose pixels it describes.
    func takeDescription() throws -> DescribeRequest {
      try channel.send(.ready(ScriptedDecoder.ready()))
      guard case .describe(let request) = try channel.next(until: nil) else { throw Unexpected() }
      return request
    }

    func nextPicture() throws -> DecodeRequest {
      guard case .decode(let request) = try channel.next(until: nil) else { throw Unexpected() }
      return request
    }

    /// Waits until the worker gives this decoder up.
    func waitForClose() {
      while (try? channel.next(until: nil)) != nil {}
    }
  }

  /// Gets the end of the decoder.
  let ends: Mailbox<DecoderExit.End>
  private let thread: ServiceThread<Never>

  init(_ script: @escaping Script, channel: PassedFile) throws {
    let ends = try Mailbox<DecoderExit.End>()
    self.ends = ends
    let descriptor = fcntl(channel.descriptor, F_DUPFD_CLOEXEC, 0)
    thread = try ServiceThread(name: "scripted", capacity: 1) { _ in
      let end: DecoderExit.End?
      do {
        // Closed before its end is told, like that of a process.
        end = try script(Role(OwnedDescriptor(adopting: descriptor)))
      } catch {
        end = .exited(1)
      }
      if let end { ends.post(end) }
    }
  }

  struct Unexpected: Error {}
}
