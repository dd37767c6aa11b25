import ImgClient
import ImgModel
import ImgSettings
import ImgStore
import ImgSystem
import TestFiles
import Testing

@testable import ImgCommands

/// Where `imgctl get` finds a thumbnail. No coordinator runs, and none may be started.
@Suite(.timeLimit(.minutes(20)))
struct ThumbnailSearchTests {
  private let directory: TestDirectory
  private let context: CommandContext
  private let url: ImageURL
  private let options = RequestOptions(variant: .standard)
  private static let bytes: [UInt8] = Array(1...9)

  init() throws {
    directory = try TestDirectory()
    url = try ImageURL(parsing: "https://example.org/a.jpg")
    var settings = Settings(
      socketPath: directory.path + "/socket", dataDirectory: directory.path)
    settings.autostart = false
    let output = Output(descriptor: 1)
    context = CommandContext(settings: settings, output: output, messages: output, isQuiet: true)
  }

  /// Stores a thumbnail that expires in one hour.
  private func store(isDamaged: Bool = false) throws {
    let store = try SharedStore(
      directory: context.settings.storeDirectory, access: .readWrite(budgetByteCount: 64 << 20)
    ) { _ in }
    let name = PictureName(url)
    try store.current().put(
      [
        NewThumbnail(
          key: ContentKey(name, variant: .standard), url: url.text,
          thumbnail: Thumbnail(
            format: .jpeg, width: 4, height: 3, byteCount: Self.bytes.count, isDamaged: isDamaged),
          sourceFormat: .png, sourceWidth: 40, sourceHeight: 30, sourceByteCount: 900,
          retention: Retention(after: .seconds(3_600)), bytes: Self.bytes)
      ], at: .now)
  }

  private func find(
    _ options: RequestOptions, viewer: String? = nil, bypassesStore: Bool = false
  ) throws -> FoundThumbnail {
    let search = ThumbnailSearch(
      choice: VariantChoice(
        variant: options.variant, isLenient: options.isLenient, formatSource: .nothing),
      viewer: viewer, bypassesStore: bypassesStore)
    return try search.thumbnail(of: url, options, in: context)
  }

  /// Whether the coordinator, which is not there, was asked.
  private func asksCoordinator(
    _ options: RequestOptions, viewer: String? = nil, bypassesStore: Bool = false
  ) throws -> Bool {
    do {
      _ = try find(options, viewer: viewer, bypassesStore: bypassesStore)
      return false
    } catch ClientError.notAutostarted {
      return true
    }
  }

  @Test func `a stored thumbnail is read without the coordinator`() throws {
    try store()
    guard case .stored(let found, let isFromCache, let timings) = try find(options)
    else {
      Issue.record("nothing is found")
      return
    }
    #expect(found.record.thumbnail.width == 4)
    #expect(found.bytes == Self.bytes)
    #expect(isFromCache)
    #expect(timings == nil)
  }

  @Test func `without a store, or with another variant in it, the coordinator is asked`() throws {
    #expect(try asksCoordinator(options))
    try store()
    #expect(try !asksCoordinator(options))
    var other = options
    other.variant = try #require(Variant.standard.encoded(as: .png))
    #expect(try asksCoordinator(other))
  }

  @Test(arguments: [false, true])
  func `a stored thumbnail of a damaged picture answers only lenient requests`(
    isDamaged: Bool
  ) throws {
    try store(isDamaged: isDamaged)
    #expect(try asksCoordinator(options) == isDamaged)
    #expect(try !asksCoordinator(RequestOptions(variant: .standard, isLenient: true)))
  }

  @Test func `the coordinator is asked for what only it can do`() throws {
    try store()
    #expect(
      try asksCoordinator(options, viewer: "cell"), "it replaces the viewer's earlier request")
    #expect(try asksCoordinator(options, bypassesStore: true))
    let delayed = RequestOptions(variant: .standard, delay: .seconds(1))
    #expect(try asksCoordinator(delayed))
    let keepsOriginal = RequestOptions(variant: .standard, keep: .all)
    #expect(try asksCoordinator(keepsOriginal), "the store has no original")
  }

  @Test(arguments: [(1_800, false), (7_200, true)])
  func `the coordinator is asked for a later expiry than the stored one`(
    seconds: Int, isAsked: Bool
  ) throws {
    try store()
    let options = RequestOptions(variant: .standard, expiry: Expiry(.after(.seconds(seconds))))
    #expect(try asksCoordinator(options) == isAsked)
  }
}
