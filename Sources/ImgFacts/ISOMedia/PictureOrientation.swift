/// How stored pixels are turned and mirrored, put together from single steps.
struct PictureOrientation {
  /// Where the stored directions to the right and down point, as (right, down).
  private var right: (Int, Int)
  private var down: (Int, Int)

  init(right: (Int, Int) = (1, 0), down: (Int, Int) = (0, 1)) {
    (self.right, self.down) = (right, down)
  }

  /// - Parameter quarters: of a turn against the clock.
  mutating func turnLeft(_ quarters: Int) {
    for _ in 0..<quarters {
      right = (right.1, -right.0)
      down = (down.1, -down.0)
    }
  }

  mutating func exchangeTopAndBottom() {
    right.1 = -right.1
    down.1 = -down.1
  }

  mutating func exchangeLeftAndRight() {
    right.0 = -right.0
    down.0 = -down.0
  }

  /// Both, one after the other.
  func followed(by next: PictureOrientation) -> PictureOrientation {
    let turned = { (direction: (Int, Int)) in
      (
        direction.0 * next.right.0 + direction.1 * next.down.0,
        direction.0 * next.right.1 + direction.1 * next.down.1
      )
    }
    return PictureOrientation(right: turned(right), down: turned(down))
  }

  /// By the numbers of CIPA DC-008, "Orientation".
  var number: Int {
    switch (right, down) {
    case ((-1, 0), (0, 1)): 2
    case ((-1, 0), (0, -1)): 3
    case ((1, 0), (0, -1)): 4
    case ((0, 1), (1, 0)): 5
    case ((0, 1), (-1, 0)): 6
    case ((0, -1), (-1, 0)): 7
    case ((0, -1), (1, 0)): 8
    default: 1
    }
  }
}
