import Glibc
import ImgModel
import ImgSystem
import ImgTransport
import ImgWire
import TestCluster

/// The program `imgdecoder`, with the test as its worker.
final class RunningDecoder {
  let channel: Channel<DecoderReport, DecoderOrder>
  let picture: PictureMemory
  let thumbnail: ThumbnailMemory
  let child: ChildProcess
  /// The number of the last picture.
  private(set) var pictureCount: UInt64 = 0

  /// Starts the program, and sends it nothing.
  init(limits: Limits = Limits()) throws {
    picture = try PictureMemory(maximumByteCount: Int(limits.maxBodyByteCount))
    thumbnail = try ThumbnailMemory(maximumByteCount: Int(limits.maxThumbnailByteCount))
    var pair = try UnixSocket.pair()
    channel = try Channel(pair.takeFirst())
    let end = pair.takeSecond()
    child = try ChildProcess.spawn(
      executable: Programs.path(of: "imgdecoder"), arguments: [],
      environment: ["SWIFT_BACKTRACE": "enable=no"],
      descriptors: [(parent: end.rawValue, child: DecoderDescriptor.channel)])
  }

  /// Starts the program, and waits until it is ready.
  static func ready(limits: Limits = Limits()) throws -> RunningDecoder {
    let decoder = try RunningDecoder(limits: limits)
    try decoder.channel.send(
      .start(DecoderStart(limits: limits, requiresSandbox: false)), with: decoder.thumbnail.file)
    try decoder.channel.send(.input, with: decoder.picture.file)
    guard case .ready = try decoder.nextReport() else { throw Unexpected() }
    return decoder
  }

  deinit {
    child.signal(SIGKILL)
    _ = child.waitForExit(until: .now + ProgramRun.patience)
  }

  func nextReport() throws -> DecoderReport {
    try channel.next(until: .now + ProgramRun.patience)
  }

  /// The decoder's answer to a picture.
  func report(
    on picture: [UInt8], as variants: [Variant] = [.standard], isLenient: Bool = false
  ) throws -> DecoderReport {
    thumbnail.beginPicture()
    self.picture.put(picture.span)
    pictureCount += 1
    try channel.send(
      .decode(
        DecodeRequest(
          picture: pictureCount, variants: variants, isLenient: isLenient,
          byteCount: picture.count)))
    return try nextReport()
  }

  func exit() -> ExitStatus? { child.waitForExit(until: .now + ProgramRun.patience) }

  struct Unexpected: Error {}
}
