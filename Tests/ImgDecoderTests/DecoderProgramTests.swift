import CAllocation
import Glibc
import ImgFacts
import ImgModel
import ImgSystem
import ImgWire
import TestCluster
import TestPictures
import Testing

/// The program `imgdecoder` by itself.
@Suite(.timeLimit(.minutes(20))) struct DecoderProgramTests {
  private let maker: PictureMaker

  init() throws {
    maker = try PictureMaker.start()
  }

  @Test func `a picture becomes a thumbnail in the shared memory`() throws {
    let decoder = try RunningDecoder.ready()
    for format in [PictureFormat.jpeg, .png] {
      let picture = try maker.card(index: 1, width: 320, height: 240, format: format)
      guard case .decoded(let facts, let number) = try decoder.report(on: picture) else {
        Issue.record("\(format) was not decoded")
        continue
      }
      #expect(number == decoder.pictureCount)
      #expect((facts.source.width, facts.source.height) == (320, 240))
      #expect((facts.thumbnails[0].width, facts.thumbnails[0].height) == (256, 192))
      let bytes = decoder.thumbnail.thumbnail(byteCount: facts.thumbnails[0].byteCount)
      #expect(bytes.map(FormatSniffer.sniff) == .picture(.jpeg))
    }
  }

  /// Locked, it may neither open files nor load code.
  @Test(arguments: [PictureFormat.gif, .webp, .png, .jxl])
  func `frames are decoded, and animations are encoded`(format: PictureFormat) throws {
    let decoder = try RunningDecoder.ready()
    let animation =
      switch format {
      case .png:
        APNGWriter.file(
          try (0..<3).map {
            .init(try maker.card(index: $0, width: 64, height: 48, format: .png))
          })
      case .jxl:
        JXLWriter.file((0..<3).map { .init(Card(index: $0, width: 64, height: 48).raster) })
      default: try maker.animation(index: 0, frameCount: 3, format: format)
      }
    let variants: [(ImageVariant.Frames, ImageVariant.Format, ImageFormat)] = [
      (.number(2), .auto, .jpeg), (.time(.milliseconds(150)), .gif, .gif), (.poster, .png, .png),
      (.all, .auto, .webp), (.all, .gif, .gif),
    ]
    for (selection, output, wanted) in variants {
      let variant = try Variant(
        ImageVariant(width: 32, height: 32, format: output, frames: selection))
      guard case .decoded(let facts, _) = try decoder.report(on: animation, as: [variant]) else {
        Issue.record("\(selection) was not decoded")
        continue
      }
      #expect(facts.thumbnails[0].format == wanted && facts.source.frames == 3)
    }
  }

  @Test func `a picture without a thumbnail fails, and the next one is decoded`() throws {
    let decoder = try RunningDecoder.ready()
    guard case .failed(let failure, _) = try decoder.report(on: Array("words".utf8)) else {
      Issue.record("words were decoded")
      return
    }
    #expect(failure.code == .notAnImage)
    guard case .decoded = try decoder.report(on: maker.card(index: 1)) else {
      Issue.record("a picture was not decoded")
      return
    }
  }

  @Test func `thumbnails of several sizes lie one behind the other`() throws {
    let decoder = try RunningDecoder.ready()
    let variants = try [64, 200, 16].map {
      try Variant(ImageVariant(width: $0, height: $0, format: .png))
    }
    guard case .decoded(let facts, _) = try decoder.report(on: maker.card(index: 1), as: variants)
    else {
      Issue.record("the picture was not decoded")
      return
    }
    #expect(facts.thumbnails.map(\.width) == [64, 200, 16])
    var offset = 0
    for thumbnail in facts.thumbnails {
      let bytes = decoder.thumbnail.thumbnail(byteCount: thumbnail.byteCount, at: offset)
      #expect(bytes.map(FormatSniffer.sniff) == .picture(.png))
      offset += thumbnail.byteCount
    }
  }

  @Test func `a small thumbnail of a large JPEG takes a part of the memory of its pixels`() throws {
    let decoder = try RunningDecoder.ready()
    let (width, height) = (4032, 3024)
    let picture = try maker.card(index: 1, width: width, height: height, format: .jpeg)
    let before = try #require(peakByteCount(of: decoder.child.processID))
    guard case .decoded(let facts, _) = try decoder.report(on: picture) else {
      Issue.record("it was not decoded")
      return
    }
    #expect(facts.thumbnails[0].width == 256)
    let after = try #require(peakByteCount(of: decoder.child.processID))
    #expect(after - before < width * height * 3 / 2, "\((after - before) >> 20) MiB")
  }

  @Test func `a damaged picture fails, and has a thumbnail if damage is accepted`() throws {
    let decoder = try RunningDecoder.ready()
    let picture = try maker.scene(width: 320, height: 240, format: .png)
    let damaged = Array(picture.prefix(picture.count / 2))
    guard case .failed(let failure, _) = try decoder.report(on: damaged) else {
      Issue.record("a part of it was taken for whole")
      return
    }
    #expect(failure.code == .corruptImage)
    guard case .decoded(let facts, _) = try decoder.report(on: damaged, isLenient: true) else {
      Issue.record("it was not decoded")
      return
    }
    #expect(facts.thumbnails[0].isDamaged)
    guard case .decoded(let whole, _) = try decoder.report(on: picture, isLenient: true) else {
      Issue.record("the whole picture was not decoded")
      return
    }
    #expect(!whole.thumbnails[0].isDamaged)
  }

  @Test func `a thumbnail that does not fit is too_large`() throws {
    var limits = Limits()
    limits.maxThumbnailByteCount = 100
    let decoder = try RunningDecoder.ready(limits: limits)
    guard case .failed(let failure, _) = try decoder.report(on: maker.card(index: 1)) else {
      Issue.record("the thumbnail did fit")
      return
    }
    #expect(failure.code == .tooLarge)
  }

  @Test func `a picture without memory for a part of it is no success`() throws {
    var limits = Limits()
    limits.decoderMemoryByteCount = 160 << 20
    let decoder = try RunningDecoder.ready(limits: limits)
    // Drawn, it takes 300 MB, with the 100 million pixels that a picture may have.
    let drawing = Drawing.svg(Drawing.image(embedding: try maker.blank(side: 10_000)))
    guard case .failed(let failure, _) = try decoder.report(on: drawing) else {
      Issue.record("the drawing without its picture was taken for whole")
      return
    }
    #expect(failure.code == .outOfMemory)
    guard case .decoded = try decoder.report(on: maker.card(index: 1)) else {
      Issue.record("the next picture was not decoded")
      return
    }
  }

  @Test func `JPEG 2000 is decoded where it is allowed`() throws {
    let picture = try maker.jpeg2000Card(index: 1)
    guard case .failed(let failure, _) = try RunningDecoder.ready().report(on: picture) else {
      Issue.record("it was decoded without permission")
      return
    }
    #expect(failure.code == .unsupportedFormat)
    var limits = Limits()
    limits.allowedFormats = [.jp2]
    let decoder = try RunningDecoder.ready(limits: limits)
    guard case .decoded(let facts, _) = try decoder.report(on: picture) else {
      Issue.record("it was not decoded")
      return
    }
    #expect(facts.source.format == .jp2)
    #expect((facts.source.width, facts.source.height) == (320, 240))
    guard case .failed(let damage, _) = try decoder.report(on: Array(picture.dropLast(400))) else {
      Issue.record("a part of it was taken for whole")
      return
    }
    #expect(damage.code == .corruptImage)
  }

  @Test func `new memory replaces the old one`() throws {
    let decoder = try RunningDecoder.ready()
    let picture = try maker.card(index: 1)
    let memory = try PictureMemory(maximumByteCount: picture.count)
    memory.put(picture.span)
    try decoder.channel.send(.input, with: memory.file)
    try decoder.channel.send(
      .decode(
        DecodeRequest(
          picture: 1, variants: [.standard], isLenient: false, byteCount: picture.count)))
    guard case .decoded = try decoder.nextReport() else {
      Issue.record("the picture was not found")
      return
    }
  }

  @Test func `the decoder ends itself when a picture takes too long`() throws {
    var limits = Limits()
    limits.decodeTimeout = .milliseconds(1)
    let decoder = try RunningDecoder.ready(limits: limits)
    let picture = try maker.scene(width: 2_000, height: 2_000, format: .png)
    #expect(throws: ChannelError.self) { _ = try decoder.report(on: picture) }
    // Of its two timers the one for processor time may be first, as several threads decode.
    let exit = decoder.exit()
    #expect(exit == .signalled(SIGALRM) || exit == .signalled(SIGPROF))
  }

  @Test func `the decoder exits when its worker closes the channel`() throws {
    let child: ChildProcess
    do {
      var pair = try UnixSocket.pair()
      let near = pair.takeFirst()
      let end = pair.takeSecond()
      child = try ChildProcess.spawn(
        executable: Programs.path(of: "imgdecoder"), arguments: [], environment: [:],
        descriptors: [(parent: end.rawValue, child: DecoderDescriptor.channel)])
      _ = near.rawValue
    }
    #expect(child.waitForExit(until: .now + ProgramRun.patience) == .exited(0))
  }

  @Test(arguments: [-1, (100 << 20) + 1])
  func `a picture that the memory cannot hold ends the decoder`(byteCount: Int) throws {
    let decoder = try RunningDecoder.ready()
    try decoder.channel.send(
      .decode(
        DecodeRequest(picture: 1, variants: [.standard], isLenient: false, byteCount: byteCount)))
    #expect(decoder.exit() == .exited(1))
  }

  @Test func `a picture before the limits ends the decoder`() throws {
    let decoder = try RunningDecoder()
    try decoder.channel.send(
      .decode(DecodeRequest(picture: 1, variants: [.standard], isLenient: false, byteCount: 1)))
    #expect(decoder.exit() == .exited(1))
  }

  @Test func `a person cannot start the program`() throws {
    let child = try ChildProcess.spawn(
      executable: Programs.path(of: "imgdecoder"), arguments: [], environment: [:],
      descriptors: [])
    #expect(child.waitForExit(until: .now + ProgramRun.patience) == .exited(2))
  }
}

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
      .start(limits, requiresSandbox: false), with: decoder.thumbnail.file)
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

  func exit() -> ImgSystem.ExitStatus? { child.waitForExit(until: .now + ProgramRun.patience) }

  struct Unexpected: Error {}
}

private let limit = 1 << 30

/// What a decoder's memory says of allocations that were refused. The functions of the C library are those
/// of the decoder in this program, too.
@Suite(.timeLimit(.minutes(20))) struct RefusedAllocationTests {
  @Test func `each way to allocate beyond the limit is recorded`() async {
    await #expect(processExitsWith: .success) {
      let memory = try ThumbnailMemory(maximumByteCount: 1)
      memory.recordRefusedAllocations(by: img_record_refused_allocations)
      try ThisProcess.limitPrivateMemory(byteCount: Int64(limit))
      var aligned: UnsafeMutableRawPointer?
      let attempts: [() -> Bool] = [
        { unsafe malloc(limit) == nil },
        { unsafe calloc(2, limit / 2) == nil },
        { unsafe realloc(nil, limit) == nil },
        { unsafe aligned_alloc(64, limit) == nil },
        { unsafe posix_memalign(&aligned, 64, limit) == ENOMEM },
        { !Self.startsThread(stackByteCount: limit) },
      ]
      for attempt in attempts {
        memory.beginPicture()
        precondition(!memory.hasRefusedAllocation(within: Limits()))
        precondition(attempt())
        precondition(memory.hasRefusedAllocation(within: Limits()))
      }
    }
  }

  @Test func `what is granted, freed or more than any picture needs does not count`() async {
    await #expect(processExitsWith: .success) {
      let memory = try ThumbnailMemory(maximumByteCount: 1)
      memory.recordRefusedAllocations(by: img_record_refused_allocations)
      try ThisProcess.limitPrivateMemory(byteCount: Int64(limit))
      let granted = unsafe realloc(malloc(100), 1 << 20)
      precondition(unsafe granted != nil)
      precondition(unsafe realloc(granted, 0) == nil)
      precondition(unsafe malloc(Int.max) == nil)
      // As long as a chunk of a PNG may claim to be.
      precondition(unsafe malloc((1 << 31) - 1) == nil)
      precondition(unsafe calloc(Int.max, 2) == nil)
      var aligned: UnsafeMutableRawPointer?
      precondition(unsafe posix_memalign(&aligned, 3, 100) == EINVAL)
      precondition(unsafe posix_memalign(&aligned, 64, 100) == 0)
      precondition(Int(bitPattern: aligned) % 64 == 0)
      unsafe free(aligned)
      precondition(Self.startsThread(stackByteCount: 1 << 20))
      precondition(!memory.hasRefusedAllocation(within: Limits()))
      // It does where a picture is taken for whole without it.
      precondition(memory.hasRefusedAllocation)
    }
  }

  private static func startsThread(stackByteCount: Int) -> Bool {
    let thread = try? ServiceThread<Void>(
      name: "test", capacity: 1, stackByteCount: stackByteCount
    ) { _ in }
    thread?.join()
    return thread != nil
  }
}
