import Testing

@testable import ImgDecode

@Suite struct EXIFOrientationTests {
  private struct Entry {
    var tag: UInt8 = 0x12
    var type: UInt8 = 3
    var count: UInt8 = 1
    let value: UInt8
  }

  /// A segment of EXIF whose directory has these entries, all with tags 0x01….
  private func segment(_ entries: [Entry], isBigEndian: Bool = false) -> [UInt8] {
    func number(_ value: UInt8, _ byteCount: Int) -> [UInt8] {
      let padding = [UInt8](repeating: 0, count: byteCount - 1)
      return isBigEndian ? padding + [value] : [value] + padding
    }
    var file: [UInt8] = isBigEndian ? [0x4D, 0x4D, 0, 42] : [0x49, 0x49, 42, 0]
    file += number(8, 4) + number(UInt8(entries.count), 2)
    for entry in entries {
      file += isBigEndian ? [1, entry.tag] : [entry.tag, 1]
      file += number(entry.type, 2) + number(entry.count, 4)
      file += number(entry.value, 2) + [0, 0]
    }
    return Array("Exif\0\0".utf8) + file
  }

  private func value(_ segment: [UInt8]) -> Int? {
    unsafe segment.withUnsafeBufferPointer { unsafe EXIFOrientation.value(inSegment: $0) }
  }

  @Test(arguments: [false, true])
  func `the orientation is read in both byte orders`(isBigEndian: Bool) {
    for orientation in 1...8 {
      let entries = [Entry(tag: 0x10, value: 7), Entry(value: UInt8(orientation))]
      #expect(value(segment(entries, isBigEndian: isBigEndian)) == orientation)
    }
  }

  @Test(arguments: [0, 9, 255])
  func `a value that does not exist is none`(orientation: UInt8) {
    #expect(value(segment([Entry(value: orientation)])) == nil)
  }

  @Test func `text and entries without a value do not count, and of two the first does`() {
    #expect(value(segment([Entry(type: 2, value: 6), Entry(value: 3)])) == 3)
    #expect(value(segment([Entry(count: 0, value: 6), Entry(value: 3)])) == 3)
    #expect(value(segment([Entry(value: 6), Entry(value: 3)])) == 6)
  }

  @Test func `a segment that breaks off anywhere is no error`() {
    let whole = segment([Entry(value: 6)])
    for count in 0..<whole.count - 2 {
      #expect(value(Array(whole.prefix(count))) == nil)
    }
    #expect(value(Array("http://ns.adobe.com/xap/1.0/\0".utf8)) == nil)
  }
}
