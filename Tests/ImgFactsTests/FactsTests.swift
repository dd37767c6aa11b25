import FoundationEssentials
import Testing

@testable import ImgFacts

/// What holds for every format.
@Suite struct FactsTests {
  @Test(arguments: Samples.all.keys.sorted(), FactsExtent.allCases)
  func `a beginning of a file gives the same facts, asks for bytes, or says that it is cut`(
    name: String, extent: FactsExtent
  ) throws {
    let file = try #require(Samples.all[name])
    let whole = try facts(of: file, extent)
    for count in 0..<file.count {
      let start = Array(file.prefix(count))
      do throws(FactsError) {
        let found = try PictureFacts.reading(WholeBytes(start), extent)
        #expect(found == whole, "\(count) bytes")
      } catch {
        #expect(error == .truncated, "\(count) bytes")
      }
      var bytes = PartialBytes()
      bytes.insert(start, at: 0)
      do throws(FactsError) {
        let found = try PictureFacts.reading(bytes, extent)
        #expect(found == whole, "\(count) bytes")
      } catch {
        guard case .needsBytes(let range) = error else {
          Issue.record("\(count) bytes: \(error)")
          continue
        }
        #expect(range.upperBound > count && range.upperBound <= file.count + 4_096)
      }
    }
  }

  @Test(arguments: Samples.all.keys.sorted())
  func `a larger extent adds facts and changes none`(name: String) throws {
    let file = try #require(Samples.all[name])
    let (header, all) = (try facts(of: file, .header), try facts(of: file, .all))
    #expect(header.width == all.width && header.height == all.height)
    #expect(header.orientation == all.orientation && header.bands == all.bands)
    #expect(header.colourModel == all.colourModel)
    // Where it is known.
    #expect(header.hasAlpha == nil || header.hasAlpha == all.hasAlpha)
    #expect(header.frameCount == nil || header.frameCount == all.frameCount)
  }

  @Test(arguments: Samples.all.keys.sorted())
  func `facts survive JSON`(name: String) throws {
    let found = try facts(of: try #require(Samples.all[name]))
    let json = try JSONEncoder().encode(found)
    #expect(try JSONDecoder().decode(PictureFacts.self, from: json) == found)
  }

  @Test func `JSON has keys with underscores, and none for what is unknown`() throws {
    let file = JPEGMaker.file(JPEGMaker.frame())
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let json = String(decoding: try encoder.encode(facts(of: file)), as: UTF8.self)
    #expect(
      json == """
        {"animated":false,"bands":3,"bits_per_sample":8,"colour_model":"ycbcr","encoding":"baseline",\
        "format":"jpeg","frame_count":1,"has_alpha":false,"height":48,"interlaced":false,\
        "media_type":"image/jpeg","orientation":1,"stored_height":48,"stored_width":64,"width":64}
        """)
  }

  @Test func `what is no picture is told from what is not whole`() {
    #expect(
      error(of: ascii("<html><body></body>")) == .notAnImage("the body is an HTML page"))
    #expect(error(of: ascii("%PDF-1.7")) == .unsupported("pdf is not read"))
    #expect(error(of: ascii("Not found")) == .notAnImage("the first bytes match no image format"))
    #expect(error(of: ascii("{}")) == .notAnImage("the body looks like JSON"))
    #expect(error(of: []) == .truncated)
    #expect(Fetch(zeros(100_000), .all).ranges == [0..<4_096])
  }

  @Test func `bytes that change at random end no process`() throws {
    var state: UInt64 = 1
    func random(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    for file in Samples.all.sorted(by: { $0.key < $1.key }).map(\.value) {
      for _ in 0..<500 {
        var copy = file
        for _ in 0...random(4) {
          copy[random(copy.count)] = [0, 0xFF, 0x7F, 0x80, UInt8(random(256))][random(5)]
        }
        for extent in FactsExtent.allCases { _ = error(of: copy, extent) }
      }
    }
  }
}
