package import ImgModel

/// What a transfer brings.
package struct TransferKey: Hashable, Sendable {
  package let name: PictureName
  package let part: PicturePart

  package init(name: PictureName, part: PicturePart) {
    self.name = name
    self.part = part
  }
}
