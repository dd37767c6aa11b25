import Glibc
import ImgClient

/// Loads all pictures, a few at a time, and shows row after row.
///
/// In a terminal, a row is drawn with placeholders first, and drawn again when one of its pictures is there.
/// Elsewhere it is written once it is complete.
struct Gallery {
  private static let loadCount = 8

  let client: ImageClient
  let pictures: [Picture]
  let grid: Grid
  let output: Output
  let redraws: Bool

  func show() async {
    let (updates, continuation) = AsyncStream<(Int, Tile)>.makeStream()
    let loads = Task {
      await loadAll { continuation.yield(($0, $1)) }
      continuation.finish()
    }
    var tiles = [Tile](repeating: .waiting, count: pictures.count)
    var first = 0
    var isDrawn = false
    draw(tiles, from: first, over: &isDrawn)
    for await (index, tile) in updates {
      tiles[index] = tile
      guard row(from: first).contains(index) else { continue }
      draw(tiles, from: first, over: &isDrawn)
      while first < tiles.count, tiles[row(from: first)].allSatisfy(\.isFinal) {
        first += grid.columnCount
        isDrawn = false
        draw(tiles, from: first, over: &isDrawn)
      }
    }
    await loads.value
  }

  private func row(from first: Int) -> Range<Int> {
    first..<min(first + grid.columnCount, pictures.count)
  }

  // MARK: - Loading

  private func loadAll(_ onUpdate: @escaping @Sendable (Int, Tile) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for (index, picture) in pictures.enumerated() {
        if index >= Self.loadCount { await group.next() }
        group.addTask { await load(picture) { onUpdate(index, $0) } }
      }
    }
  }

  private func load(_ picture: Picture, _ onUpdate: (Tile) -> Void) async {
    // In so few pixels, a lossy encoding shows.
    let variant = ImageVariant(width: grid.pictureWidth, height: grid.pictureHeight, format: .png)
    let request = ImageRequest(url: picture.url, variant: variant)
    do throws(ImageError) {
      let image = try await client.image(for: request)
      onUpdate(.loaded(image))
      onUpdate(.drawn(image, try await client.pixels(of: image)))
    } catch {
      onUpdate(.failed(error))
    }
  }

  // MARK: - Drawing

  /// - Parameter isDrawn: whether the row is there already, above the cursor.
  private func draw(_ tiles: [Tile], from first: Int, over isDrawn: inout Bool) {
    guard first < tiles.count else { return }
    let shown = tiles[row(from: first)]
    guard redraws || shown.allSatisfy(\.isFinal), let pixels = grid.row(of: shown) else { return }
    // Back to the first line of the row, and clear what is below.
    var text = isDrawn ? "\u{1B}[\(grid.size.rows + 2)A\r\u{1B}[J" : ""
    text += output.text(of: pixels, number: first + 1, size: grid.size)
    text += grid.line(of: pictures[row(from: first)].map(\.name))
    text += grid.line(of: shown.map(\.text))
    print(text, terminator: "")
    fflush(nil)
    isDrawn = true
  }
}
