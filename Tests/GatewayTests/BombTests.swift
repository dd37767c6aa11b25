import TestCluster
import TestHTTP
import TestOrigin
import TestPictures
import Testing

/// Files that are far larger in memory than on their way.
@Suite(.timeLimit(.minutes(3)))
struct BombTests {
  /// A file, and the answer to a request for it.
  private struct Bomb {
    let name: String
    let file: [UInt8]
    let status: Int
    /// `nil` for a picture.
    let code: String?
  }

  private let fixture: GatewayFixture
  private let maker: PictureMaker

  init() throws {
    maker = try PictureMaker.start()
    fixture = try GatewayFixture([], ["WORKERS": "1", "DECODER_MEMORY": "256M"])
    fixture.origin.serve("/good", .body(fixture.picture))
  }

  @Test func `a header that declares too many pixels is all that is read`() async throws {
    try await check([
      Bomb(
        name: "png", file: try maker.card(declaring: 30_000, in: .png), status: 422,
        code: "too_many_pixels"),
      Bomb(
        name: "jpeg", file: try maker.card(declaring: 60_000, in: .jpeg), status: 422,
        code: "too_many_pixels"),
    ])
  }

  @Test func `pixels that inflate to gigabytes are refused, or are not inflated`() async throws {
    try await check([
      // 800 MB that have to be in memory at once, as passes of an interlaced picture have.
      Bomb(
        name: "interlaced", file: Self.png(side: 10_000, isInterlaced: true, zeros: 800_000_000),
        status: 422, code: "out_of_memory"),
      // A gigabyte behind the pixels of the header, which is not read.
      Bomb(
        name: "surplus", file: Self.png(side: 8, isInterlaced: false, zeros: 1 << 30),
        status: 200, code: nil),
    ])
  }

  @Test func `more frames than the limit are refused`() async throws {
    let bombs = try [PictureFormat.gif, .webp].map { format in
      Bomb(
        name: "\(format)",
        file: try maker.animation(
          index: 1, width: 8, height: 8, frameCount: 1_001, format: format),
        status: 422, code: "too_many_frames")
    }
    try await check(bombs)
  }

  @Test func `entities of an SVG that expand to gigabytes are refused`() async throws {
    let entities = (1...9).map { level in
      let inner = String(repeating: "&e\(level - 1);", count: 10)
      return "<!ENTITY e\(level) \"\(inner)\">"
    }
    let text =
      "<!DOCTYPE svg [<!ENTITY e0 \"lol\">\(entities.joined())]>"
      + "<svg xmlns='http://www.w3.org/2000/svg' width='64' height='64'><text>&e9;</text></svg>"
    try await check([
      Bomb(name: "svg", file: Array(text.utf8), status: 415, code: "unsupported_format")
    ])
  }

  /// Asks for each file. Hits are answered meanwhile, and a good picture afterwards.
  private func check(_ bombs: [Bomb]) async throws {
    let hit = try await fixture.image("/good")
    for bomb in bombs {
      fixture.origin.serve("/\(bomb.name)", .body(bomb.file))
      var client = try fixture.gateway.connect()
      try client.request(fixture.target("/\(bomb.name)"))
      #expect(try await fixture.image("/good").body == hit.body)
      let response = try await client.receive()
      #expect(response.status == bomb.status, "\(bomb.name)")
      let code = response.status == 200 ? nil : try response.failureCode()
      #expect(code == bomb.code, "\(bomb.name)")
      try checkMemory(after: bomb.name)
      fixture.origin.serve("/after-\(bomb.name)", .body(fixture.picture))
      #expect(try await fixture.image("/after-\(bomb.name)").status == 200)
    }
  }

  /// The most that each process had at any time. Decoders may take 256 MiB beside their code.
  private func checkMemory(after name: String) throws {
    let coordinator = try fixture.cluster.runningCoordinator().processID
    let children = childProcessIDs(of: coordinator)
    let grandchildren = children.flatMap(childProcessIDs)
    for process in [fixture.gateway.run.processID, coordinator] {
      let peak = try #require(peakByteCount(of: process))
      #expect(peak < 128 << 20, "\(name)")
    }
    #expect(!children.isEmpty)
    // One that has ended meanwhile has no peak.
    for peak in (children + grandchildren).compactMap(peakByteCount) {
      #expect(peak < 384 << 20, "\(name)")
    }
  }

  /// A PNG of 16 bits a sample with transparency.
  private static func png(side: Int, isInterlaced: Bool, zeros: Int) -> [UInt8] {
    let size = PNGChunk.bigEndian(side) + PNGChunk.bigEndian(side)
    return PNGChunk.file([
      PNGChunk("IHDR", size + [16, 6, 0, 0, isInterlaced ? 1 : 0]),
      PNGChunk("IDAT", CompressedZeros.bytes(zeros)), PNGChunk("IEND", []),
    ])
  }
}
