import ImgClient

/// The part of a picture that a crop keeps: a point from 0,0, the upper left corner, to 1,1.
struct FocalPoint: Hashable {
  let x: Double
  let y: Double

  static let centre = FocalPoint(x: 0.5, y: 0.5)

  /// The crop that keeps it. The centre is the same crop however it was spelled.
  var crop: ImageVariant.Crop { self == .centre ? .centre : .point(x: x, y: y) }

  /// A side or a corner by its name in weserv's option `a`.
  static let weservNames: [String: FocalPoint] = [
    "center": .centre,
    "top": FocalPoint(x: 0.5, y: 0), "bottom": FocalPoint(x: 0.5, y: 1),
    "left": FocalPoint(x: 0, y: 0.5), "right": FocalPoint(x: 1, y: 0.5),
    "top-left": FocalPoint(x: 0, y: 0), "top-right": FocalPoint(x: 1, y: 0),
    "bottom-left": FocalPoint(x: 0, y: 1), "bottom-right": FocalPoint(x: 1, y: 1),
  ]

  /// A side or a corner by its name in imgproxy's option `gravity`.
  static let imgproxyNames: [String: FocalPoint] = [
    "ce": .centre,
    "no": FocalPoint(x: 0.5, y: 0), "so": FocalPoint(x: 0.5, y: 1),
    "we": FocalPoint(x: 0, y: 0.5), "ea": FocalPoint(x: 1, y: 0.5),
    "nowe": FocalPoint(x: 0, y: 0), "noea": FocalPoint(x: 1, y: 0),
    "sowe": FocalPoint(x: 0, y: 1), "soea": FocalPoint(x: 1, y: 1),
  ]
}
