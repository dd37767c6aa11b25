/// Who made a picture, and who has the rights in it. EXIF, IPTC and XMP have a field for each, which programs
/// keep equal (Metadata Working Group, Guidelines for Handling Image Metadata 2.0, sections 5.4 and 5.5).
package struct CopyrightNotice: Hashable, Sendable {
  package let creator: String?
  package let rights: String?

  /// - Returns: `nil` for a file that names neither.
  package init?(_ facts: PictureFacts) {
    creator =
      Self.text(facts.exif?.ifd0["Artist"]) ?? Self.text(facts.xmp?.creators)
      ?? Self.text(facts.iptc?["byline"])
    rights =
      Self.text(facts.exif?.ifd0["Copyright"]) ?? Self.text(facts.xmp?.rights.map { [$0] })
      ?? Self.text(facts.iptc?["copyright"])
    guard creator != nil || rights != nil else { return nil }
  }

  /// The notice as XMP (ISO 16684-1, section 8.3: the Dublin Core namespace).
  package var xmpPacket: String {
    let creator = creator.map { "<dc:creator><rdf:Seq>\(Self.item($0))</rdf:Seq></dc:creator>" }
    let rights = rights.map {
      "<dc:rights><rdf:Alt>\(Self.item($0, " xml:lang=\"x-default\""))</rdf:Alt></dc:rights>"
    }
    return "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">"
      + "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">"
      + "<rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">"
      + (creator ?? "") + (rights ?? "") + "</rdf:Description></rdf:RDF></x:xmpmeta>"
  }

  private static func item(_ text: String, _ attributes: String = "") -> String {
    let escapes: [Character: String] = ["&": "&amp;", "<": "&lt;", ">": "&gt;"]
    let escaped = text.map { escapes[$0] ?? String($0) }.joined()
    return "<rdf:li\(attributes)>\(escaped)</rdf:li>"
  }

  private static func text(_ value: FactValue?) -> String? {
    switch value {
    case .text(let text): self.text([text])
    case .list(let values): text(values.compactMap(\.text))
    case .integer, .number, nil: nil
    }
  }

  /// Several names have semicolons between them, as EXIF has it. XML has no control characters.
  private static func text(_ texts: [String]?) -> String? {
    let joined = (texts ?? []).filter { !$0.isEmpty }.joined(separator: "; ")
    let text = String(joined.unicodeScalars.map { $0.value < 0x20 ? " " : Character($0) })
    return text.allSatisfy(\.isWhitespace) ? nil : text
  }
}
