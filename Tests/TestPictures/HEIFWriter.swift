/// A HEIF file of several items (ISO/IEC 23008-12 section 6), put together from files of one picture each. The first
/// item is the one that is shown.
package struct HEIFWriter {
  package struct Item: Sendable {
    /// Such as `hvc1`, `av01` or `grid`.
    let type: String
    let data: [UInt8]
    /// Boxes.
    let properties: [[UInt8]]
    /// The first boxes of the file that it is from.
    fileprivate var head: (fileType: [UInt8], handler: [UInt8])?

    /// The picture of a file that libheif has written.
    ///
    /// - Parameters:
    ///   - format: ``PictureFormat/heif`` or ``PictureFormat/avif``.
    ///   - properties: besides its size and the configuration of its codec.
    /// - Returns: `nil` if the file has another structure.
    package init?(_ file: [UInt8], _ format: PictureFormat, _ properties: [[UInt8]] = []) {
      let isAV1 = format == .avif
      guard
        let picture = SinglePicture(file, configurationType: isAV1 ? "av1C" : "hvcC")
      else { return nil }
      type = isAV1 ? "av01" : "hvc1"
      data = picture.data
      self.properties = [picture.configuration, picture.extents] + properties
      head = (picture.fileType, picture.handler)
    }

    /// A picture of tiles that lie one beside the other (section 6.6.2.3.2).
    package init(
      gridOf columnCount: UInt8, width: UInt16, height: UInt16, _ properties: [[UInt8]] = []
    ) {
      type = "grid"
      data = [0, 0, 0, columnCount - 1] + ISOBox.short(width) + ISOBox.short(height)
      let extents = ISOBox.full("ispe", ISOBox.long(UInt32(width)) + ISOBox.long(UInt32(height)))
      self.properties = [extents] + properties
    }
  }

  /// That an item has something to do with others, numbered from 1.
  package struct Reference: Sendable {
    let type: String
    let source: UInt16
    let targets: [UInt16]

    /// - Parameter type: such as `thmb`, `auxl` or `dimg`.
    package init(_ type: String, from source: UInt16, to targets: [UInt16]) {
      (self.type, self.source, self.targets) = (type, source, targets)
    }
  }

  private let items: [Item]
  private let references: [Reference]

  package init(_ items: [Item], _ references: [Reference] = []) {
    (self.items, self.references) = (items, references)
  }

  // MARK: - Properties

  /// Code points (ITU-T H.273) with the full range.
  package static func codePoints(_ numbers: UInt16...) -> [UInt8] {
    ISOBox.box("colr", Array("nclx".utf8) + numbers.flatMap { ISOBox.short($0) } + [0x80])
  }

  package static func profile(_ profile: [UInt8]) -> [UInt8] {
    ISOBox.box("colr", Array("prof".utf8) + profile)
  }

  /// What a picture is that belongs to another, as a URN.
  package static func auxiliaryType(_ name: String) -> [UInt8] {
    ISOBox.full("auxC", Array(name.utf8) + [0])
  }

  // MARK: - The file

  /// - Precondition: one of the items is from a file.
  package var bytes: [UInt8] {
    guard let head = items.lazy.compactMap(\.head).first else {
      preconditionFailure("a file has a picture")
    }
    let start = head.fileType.count + meta(head.handler, dataOffset: 0).count
    return head.fileType
      + meta(head.handler, dataOffset: UInt32(start + ISOBox.headByteCount))
      + ISOBox.box("mdat", items.flatMap(\.data))
  }

  /// As long whatever the offset is.
  private func meta(_ handler: [UInt8], dataOffset: UInt32) -> [UInt8] {
    let boxes = references.flatMap { reference in
      ISOBox.box(
        reference.type,
        ISOBox.short(reference.source) + ISOBox.short(UInt16(reference.targets.count))
          + reference.targets.flatMap { ISOBox.short($0) })
    }
    return ISOBox.full(
      "meta",
      handler + ISOBox.full("pitm", ISOBox.short(1)) + locations(dataOffset) + kinds
        + (boxes.isEmpty ? [] : ISOBox.full("iref", boxes))
        + ISOBox.box(
          "iprp", ISOBox.box("ipco", items.flatMap { $0.properties.flatMap { $0 } }) + associations
        ))
  }

  private var numberedItems: [(number: UInt16, item: Item)] {
    items.enumerated().map { (UInt16($0.offset + 1), $0.element) }
  }

  /// Offsets and lengths of 4 bytes, from the beginning of the file.
  private func locations(_ dataOffset: UInt32) -> [UInt8] {
    var offset = dataOffset
    let entries = numberedItems.flatMap { number, item in
      defer { offset += UInt32(item.data.count) }
      return ISOBox.short(number) + ISOBox.short(0) + ISOBox.short(1) + ISOBox.long(offset)
        + ISOBox.long(UInt32(item.data.count))
    }
    return ISOBox.full("iloc", [0x44, 0x00] + ISOBox.short(UInt16(items.count)) + entries)
  }

  private var kinds: [UInt8] {
    let entries = numberedItems.flatMap { number, item in
      ISOBox.full(
        "infe", ISOBox.short(number) + ISOBox.short(0) + Array(item.type.utf8) + [0], version: 2)
    }
    return ISOBox.full("iinf", ISOBox.short(UInt16(items.count)) + entries)
  }

  /// Those that a reader must understand.
  private static let essential = ["hvcC", "av1C", "clap"]

  /// Which properties each item has, by their places.
  private var associations: [UInt8] {
    var place: UInt8 = 0
    let entries = numberedItems.flatMap { number, item in
      ISOBox.short(number) + [UInt8(item.properties.count)]
        + item.properties.map { property in
          place += 1
          let type = String(decoding: property[4..<8], as: UTF8.self)
          return Self.essential.contains(type) ? place | 0x80 : place
        }
    }
    return ISOBox.full("ipma", ISOBox.long(UInt32(items.count)) + entries)
  }
}
