import FoundationEssentials
import ImgClient
import Testing

extension GatewayBrowserTests {
  /// Modules of the page that compute something.
  struct ModuleTests {
    /// The address of a module, for a page of the gallery.
    private func module(_ name: String, in visit: Visit) async throws -> String {
      let script: String = try await visit.browser.value(of: "document.querySelector('script').src")
      return script.replacing("gallery.js", with: name)
    }

    @Test func `a ThumbHash is drawn as the library draws it`() async throws {
      struct Drawing: Decodable {
        let width: Int
        let height: Int
        let bytes: [UInt8]
      }
      let visit = try await Visit(CannedGateway())
      let module = try await module("thumbhash.js", in: visit)
      // A landscape, a portrait, and one with transparency.
      for hash in [
        "2QcaDIJqiHePh4h6iGdZYIcHZQ==", "ljoKNRAJZ4iHF4eHeHV5dwmIkYAY",
        "W0iCSwgofV9lRll9X9b3ZQdVpoViV1g=",
      ] {
        let drawing: Drawing = try await visit.browser.value(
          of: """
            import("\(module)").then(({ thumbHashDrawing }) => {
              const { width, height, data } = thumbHashDrawing("\(hash)");
              return { width, height, bytes: [...data] };
            })
            """)
        let bytes = try #require(Data(base64Encoded: hash))
        let expected = try #require(
          ImagePlaceholder.thumbHash(Array(bytes)).pixels(
            width: drawing.width, height: drawing.height))
        let rows = (0..<expected.height).flatMap { Array(expected.row($0)) }
        #expect(drawing.bytes.count == rows.count)
        #expect(zip(drawing.bytes, rows).allSatisfy { abs(Int($0) - Int($1)) <= 1 }, "\(hash)")
      }
    }

    @Test func `a text that is no ThumbHash is drawn as nothing, or as something`() async throws {
      let visit = try await Visit(CannedGateway())
      let module = try await module("thumbhash.js", in: visit)
      let sizes: [Int] = try await visit.browser.value(
        of: """
          import("\(module)").then(({ thumbHashDrawing }) =>
            ["", "AA==", "no base64 <>", "FggOBYCbd4d/", "/".repeat(32)].map((text) =>
              thumbHashDrawing(text)?.width ?? 0))
          """)
      #expect(sizes.prefix(3) == [0, 0, 0])
      #expect(sizes.allSatisfy { $0 <= 32 })
    }

    @Test func `rows fill the width, and never change when pictures follow`() async throws {
      let visit = try await Visit(CannedGateway())
      let module = try await module("rows.js", in: visit)
      let faults: [String] = try await visit.browser.value(
        of: """
          import("\(module)").then(({ Rows }) => {
            const faults = [];
            for (const width of [320, 400, 1400, 4000]) {
              const rows = new Rows({ width, rowHeight: 180, gap: 8 });
              let known = "";
              for (let i = 0; i < 500; i += 1) {
                rows.add([1.5, 0.02, 1, 90, 0.66, 1.78][(i * i) % 6]);
                if (!JSON.stringify(rows.boxes).startsWith(known)) faults.push(`${width}: ${i} moves`);
                known = JSON.stringify(rows.boxes).slice(0, -1);
              }
              rows.finish();
              if (rows.boxes.length !== 500) faults.push(`${width}: ${rows.boxes.length} boxes`);
              rows.boxes.slice(0, -20).forEach((box, i) => {
                const next = rows.boxes[i + 1];
                const isLast = next.top > box.top;
                const end = box.left + box.width;
                if (Math.abs(isLast ? width - end : next.left - end - 8) > 1) {
                  faults.push(`${width}: ${i} ends at ${end}`);
                }
                if (box.height < 60 || box.height > 400) {
                  faults.push(`${width}: ${i} is ${box.height} high`);
                }
              });
            }
            return faults;
          })
          """)
      #expect(faults == [])
    }
  }
}
