package import ImgClient
package import ImgModel
package import ImgSettings

/// `imgctl sheet`: writes the thumbnails of a job, or of pictures, as one picture.
///
/// Decoders of the cluster decode each thumbnail and encode the sheet, as they do with any picture. So one that is
/// hostile or damaged fails alone, and this process links no image library.
package struct SheetCommand: Command {
  /// What has the pictures.
  package enum Subject: Hashable, Sendable {
    case job(JobID)
    /// As `imgctl submit` takes them, and URLs of pictures.
    case pictures([String])
  }

  package let subject: Subject
  package let isRecursive: Bool
  /// Of lists among the pictures.
  private let listFormat: ListFormat
  package let columns: Int?
  package let tile: SheetLayout.Tile?
  package let background: RGBColour
  package let quality: Int
  package let isJSON: Bool
  private let destination: PictureOutput

  private static let subject = OperandDescription(
    "JOB|URL|FILE|DIR|-", .many,
    help:
      "The number of a job, whose stored thumbnails are the tiles, in the order of the list. Or pictures, directories of "
      + "pictures and lists, as imgctl submit takes them, and URLs of pictures: they become a job first. A file whose "
      + "name is a number is written ./7.")
  private static let columns = OptionDescription(
    "--columns", "N",
    help: "How many tiles a row has. Default: so many that the sheet is about square.")
  private static let tile = OptionDescription(
    "--tile", "WxH",
    help:
      "The box of a tile in pixels, from \(SheetLayout.sideRange.lowerBound) to \(SheetLayout.sideRange.upperBound) a side; N "
      + "means NxN. Default: \(SheetLayout.standardSide), or less where the sheet would be too large."
  )
  private static let background = OptionDescription(
    "--background", "COLOUR",
    help:
      "The colour between and behind the tiles: a name of CSS such as black, or digits such as 303030. "
      + "Default: white.")

  package static let description = CommandDescription(
    name: "imgctl sheet", summary: "write the thumbnails of a job or of pictures as one picture",
    operands: [subject],
    options: PictureOutput.options + [
      columns, tile, background, VariantOptions.quality, FileList.recursive, ListFormat.urlColumn,
    ] + OptionDescription.startingPlaces,
    notes: [
      PictureOutput.note,
      "A line without a thumbnail has no tile. What a decoder refuses leaves its tile empty. Both are counted.",
      "The sheet has at most 16383 pixels a side, 64 megapixels, --max-pixels, and three bytes a pixel within --max-body "
        + "of the coordinator: 34.9 megapixels with its default, which are 780 tiles of 200x200. They need 105 MB "
        + "of memory in the command and as much in a decoder.",
      "The exit code is 1 if a picture failed, if the store no longer has a thumbnail, or if one could not be "
        + "decoded. Pictures that had failed in a job that is named do not change it.",
    ],
    examples: [
      .init("imgctl sheet 7 -o sheet.jpg", "All thumbnails of job 7."),
      .init(
        "imgctl sheet photos --recursive -o sheet.png --tile 128 --background black",
        "The pictures of a directory and those in it."),
      .init("imgctl sheet 7 -o sheet.webp --columns 5 --tile 320x240", "Five tiles a row."),
    ])

  package init(_ arguments: ArgumentReader) throws(UsageError) {
    let texts = Array(arguments.texts(of: Self.subject))
    subject =
      if texts.count == 1, let job = JobID(texts[0]) { .job(job) } else { .pictures(texts) }
    isRecursive = arguments.contains(FileList.recursive)
    listFormat = ListFormat(.recognized, urlColumn: arguments.texts(of: ListFormat.urlColumn)?.last)
    columns = try arguments.value(of: Self.columns) { (text) throws(InvalidValue) in
      try Int(parsing: text, in: 1...ImageVariant.sideRange.upperBound)
    }
    tile = try arguments.value(of: Self.tile, SheetLayout.Tile.init(parsing:))
    background = try arguments.value(of: Self.background, RGBColour.init(parsing:)) ?? .white
    quality =
      try arguments.value(of: VariantOptions.quality) { (text) throws(InvalidValue) in
        try Int(parsing: text, in: ImageVariant.qualityRange)
      } ?? ImageVariant.standard.quality
    destination = try PictureOutput(arguments)
    isJSON = arguments.contains(.json)
    guard destination.path?.hasSuffix("/") != true else {
      throw UsageError("--output: the sheet is one file, such as sheet.jpg")
    }
  }

  package func run(in context: CommandContext) throws -> ExitCode {
    try destination.check(for: Self.description.name)
    let context = try context.withStore(of: context.coordinator())
    let (job, code) = try job(in: context)
    guard code != .interrupted else { return code }
    let sheet = try ContactSheet(of: job, over: context.runningCoordinator(), from: context.store)
    let canvas = try sheet.drawn(with: self) { url, failure in
      context.report(error: "\(HumanText.source(url)): no tile: \(failure)")
    }
    let encoded = try sheet.encoded(canvas, as: format, quality: quality)
    try deliver(encoded, of: canvas.layout, sheet, in: context)
    return sheet.missingCount + sheet.undecodedCount > 0 ? .someFailed : code
  }

  private var format: ImageVariant.Format {
    destination.format.flatMap(ImageVariant.Format.init) ?? .jpeg
  }

  /// The job whose thumbnails are the tiles.
  private func job(in context: CommandContext) throws -> (JobID, ExitCode) {
    switch subject {
    case .job(let job): return (job, .success)
    case .pictures(let operands):
      context.noteTypedInput(operands.first { $0 == "-" })
      var list = try ListSubmission(
        paths: operands, of: Self.description, as: listFormat,
        files: ListSubmission.FileOptions(
          isRecursive: isRecursive, takesURLs: true, output: destination.path))
      let client = try context.coordinator()
      let side = tile ?? .standard
      let variant = try rethrowing(
        try Variant(ImageVariant(width: side.width, height: side.height)),
        as: { (error: VariantError) in UsageError("\(error)") })
      var options = RequestOptions(variant: variant)
      options.fetch.respectsOptOut = true
      let job = try list.submit(
        to: client, name: "sheet", options: options, pinPolicy: .whileActive
      ).job
      context.note(list.takeFormats() + (list.skipped.text.map { $0 + "\n" } ?? ""))
      let code = try JobFollower(in: context, isJSON: false).follow(
        job, continuing: client, readsFiles: true)
      return (job, code)
    }
  }

  private func deliver(
    _ encoded: EncodedSheet, of layout: SheetLayout, _ sheet: ContactSheet,
    in context: CommandContext
  ) throws {
    let report = JSONObject([
      "file": destination.path, "format": encoded.thumbnail.format.rawValue,
      "width": layout.width, "height": layout.height, "bytes": encoded.bytes.count,
      "job": sheet.job.job, "tiles": layout.count, "columns": layout.columns,
      "without": sheet.withoutCount, "not_in_store": sheet.missingCount,
      "not_decoded": sheet.undecodedCount,
    ])
    let sources = if case .pictures(let texts) = subject { texts } else { [] as [String] }
    try destination.deliver(
      encoded.bytes, encoded.thumbnail, report, of: sources, in: context)
    guard !isJSON else { return }
    context.note(
      "\(HumanText.count(layout.count, of: "tile")) of \(layout.tile.width)x\(layout.tile.height) in "
        + "\(HumanText.count(layout.columns, of: "column")): \(layout.width)x\(layout.height) "
        + "\(encoded.thumbnail.format.rawValue), \(HumanText.size(Int64(encoded.bytes.count)))\n")
    for (count, reason) in [
      (sheet.withoutCount, "without a thumbnail: imgctl failures \(sheet.job.job)"),
      (sheet.missingCount, "whose thumbnail is no longer stored: submit the list again"),
      (sheet.undecodedCount, "with an empty tile, because the thumbnail cannot be decoded"),
    ] where count > 0 {
      context.note("\(HumanText.count(count, of: "line")) \(reason)\n")
    }
  }
}

extension SheetLayout.Tile {
  static let standard = Self(width: SheetLayout.standardSide, height: SheetLayout.standardSide)

  /// Reads `320x240`, and `200` for a square.
  init(parsing text: String) throws(InvalidValue) {
    let box = try RequestedBox(parsing: text)
    guard let width = box.width, let height = box.height,
      [width, height].allSatisfy(SheetLayout.sideRange.contains)
    else {
      throw InvalidValue(
        "\(Spelling.quoted(text)) is not a tile of \(SheetLayout.sideRange.lowerBound) to "
          + "\(SheetLayout.sideRange.upperBound) pixels a side")
    }
    self.init(width: width, height: height)
  }
}

/// A sheet as the file that is written.
struct EncodedSheet {
  let bytes: [UInt8]
  let thumbnail: Thumbnail
}

/// The tiles of a job: from the store, decoded by the cluster, on one canvas.
final class ContactSheet {
  let job: ImageJob
  private let client: Client
  private let results: LineResults
  /// Lines that failed, were cancelled, or have not ended.
  private(set) var withoutCount = 0
  /// Lines whose thumbnail the store no longer has.
  private(set) var missingCount = 0
  private(set) var undecodedCount = 0

  init(of job: JobID, over client: Client, from store: LocalStore) throws {
    self.client = client
    self.job = try client.answer(.job(job))
    results = LineResults(of: self.job, in: store)
    let keep = self.job.request.keep
    guard keep.includesThumbnail || keep.isOriginalAlone else {
      throw UsageError(
        "\(SheetCommand.description.name): job \(job) has no thumbnails; it was told to keep \(keep.rawValue)"
      )
    }
  }

  /// Draws all tiles.
  ///
  /// - Parameter report: is told of each that cannot be decoded.
  func drawn(
    with command: SheetCommand, report: (String, Failure) -> Void
  ) throws -> SheetCanvas {
    var count = 0
    try forEachDone { if try results.isStored($0) { count += 1 } else { missingCount += 1 } }
    withoutCount = job.total - count - missingCount
    guard count > 0 else {
      throw UsageError(
        "\(SheetCommand.description.name): the store has no thumbnail of job \(job.job)")
    }
    let layout = try SheetLayout(
      count, of: command.tile, columns: command.columns,
      within: SheetLimits(client.answer(.status).limits))
    var canvas = SheetCanvas(layout, on: command.background)
    let variant = try Variant(ImageVariant(width: layout.tile.width, height: layout.tile.height))
    var index = 0
    try forEachDone { line in
      guard index < count, let bytes = try thumbnail(of: line, for: layout.tile) else { return }
      do {
        canvas.draw(try pixels(of: bytes, as: variant), in: index)
      } catch let failure as Failure {
        undecodedCount += 1
        report(line.url, failure)
      }
      index += 1
    }
    // Evicted since they were counted. Their tiles at the end are empty.
    missingCount += count - index
    return canvas
  }

  private func forEachDone(_ body: (LineResult) throws -> Void) throws {
    try client.results(of: job.job, isFailedOnly: false) { line in
      if case .done = line.outcome { try body(line) }
    }
  }

  /// The smallest thumbnail of a line that fills the tile; the largest one if none does.
  private func thumbnail(of line: LineResult, for tile: SheetLayout.Tile) throws -> [UInt8]? {
    let found = try results.results(of: line).sorted {
      $0.record.thumbnail.area < $1.record.thumbnail.area
    }
    return (found.first { $0.record.thumbnail.fills(tile) } ?? found.last)?.bytes
  }

  private func pixels(of thumbnail: [UInt8], as variant: Variant) throws -> ImagePixels {
    let options = RequestOptions(
      variant: variant, isLenient: job.request.isLenient, keep: .none)
    let (bytes, made) = try result(
      of: .upload(thumbnail, as: nil, options: options, wantsPixels: true))
    guard let pixels = ImagePixels(width: made.width, height: made.height, bytes: bytes),
      made.width <= variant.width, made.height <= variant.height
    else {
      throw Failure(
        stage: .decode, code: .internal,
        detail: "the pixels do not have the size that was asked for")
    }
    return pixels
  }

  /// Has the sheet encoded.
  func encoded(
    _ canvas: borrowing SheetCanvas, as format: ImageVariant.Format, quality: Int
  ) throws -> EncodedSheet {
    let variant = try Variant(
      ImageVariant(
        width: canvas.layout.width, height: canvas.layout.height, format: format, quality: quality))
    do {
      let (bytes, thumbnail) = try result(
        of: .upload(
          canvas.file, as: nil, options: RequestOptions(variant: variant, keep: .none)))
      return EncodedSheet(bytes: bytes, thumbnail: thumbnail)
    } catch let failure as Failure {
      throw UsageError(
        "\(SheetCommand.description.name): a sheet of \(canvas.layout.width)x\(canvas.layout.height) pixels "
          + "could not be encoded: \(failure)")
    }
  }

  /// - Throws: a ``Failure`` if the picture cannot be decoded or encoded.
  private func result(
    of upload: CoordinatorRequest<GetResult>
  ) throws -> (bytes: [UInt8], Thumbnail) {
    let result = try client.answer(upload)
    guard case .done(let thumbnail, _, _) = result.outcome, let made = result.uncached else {
      throw result.outcome.failure() ?? Failure.isGone
    }
    return (made.bytes, thumbnail)
  }
}

extension Thumbnail {
  fileprivate var area: Int { width * height }

  /// Whether a tile needs no enlarging of it.
  fileprivate func fills(_ tile: SheetLayout.Tile) -> Bool {
    width >= tile.width || height >= tile.height
  }
}

/// Where the tiles of a contact sheet are: in rows from the upper left, with gaps between them and around them.
package struct SheetLayout: Hashable, Sendable {
  /// The size of a tile in pixels.
  package struct Tile: Hashable, Sendable {
    package let width: Int
    package let height: Int

    package init(width: Int, height: Int) {
      (self.width, self.height) = (width, height)
    }
  }

  package let count: Int
  package let columns: Int
  package let tile: Tile
  private let gap: Int

  /// The sides of a tile that may be asked for.
  package static let sideRange = 16...2_000
  /// The side of a tile without another one, where as many fit.
  package static let standardSide = 200

  /// - Parameters:
  ///   - columns: `nil` for a sheet that is about square.
  ///   - count: at least one.
  init(_ count: Int, of tile: Tile, columns: Int?) {
    self.count = count
    self.tile = tile
    gap = max(1, max(tile.width, tile.height) / 25)
    let ratio = Double(tile.height + gap) / Double(tile.width + gap)
    let square = Int((Double(count) * ratio).squareRoot().rounded(.up))
    self.columns = min(max(1, columns ?? square), count)
  }

  /// The largest tiles that fit, up to ``standardSide`` without `tile`.
  ///
  /// - Parameters:
  ///   - count: at least one.
  ///   - tile: the size that the user wants.
  ///   - columns: their number that the user wants.
  /// - Throws: if the sheet would be too large.
  package init(
    _ count: Int, of tile: Tile?, columns: Int?, within limits: SheetLimits
  ) throws(UsageError) {
    let fitting = stride(from: Self.standardSide, through: Self.sideRange.lowerBound, by: -1).lazy
      .map { SheetLayout(count, of: Tile(width: $0, height: $0), columns: columns) }
      .first { limits.permit($0) }
    if let tile {
      let layout = SheetLayout(count, of: tile, columns: columns)
      guard limits.permit(layout) else {
        let advice = fitting.map { "; --tile \($0.tile.width) fits" } ?? ""
        throw UsageError(
          "\(HumanText.count(count, of: "tile")) of \(tile.width)x\(tile.height) in "
            + "\(HumanText.count(layout.columns, of: "column")) make a sheet of \(layout.width)x\(layout.height) "
            + "pixels; \(limits)\(advice)")
      }
      self = layout
    } else if let fitting {
      self = fitting
    } else {
      throw UsageError(
        "\(HumanText.count(count, of: "tile")) do not fit a sheet, not even of \(Self.sideRange.lowerBound) pixels "
          + "each; \(limits)")
    }
  }

  package var rows: Int { (count + columns - 1) / columns }
  package var width: Int { columns * (tile.width + gap) + gap }
  package var height: Int { rows * (tile.height + gap) + gap }

  /// The upper left corner of a picture in the middle of its tile.
  ///
  /// - Parameter index: of the tile, from 0.
  func corner(of index: Int, width: Int, height: Int) -> (x: Int, y: Int) {
    let (row, column) = index.quotientAndRemainder(dividingBy: columns)
    return (
      gap + column * (tile.width + gap) + (tile.width - width) / 2,
      gap + row * (tile.height + gap) + (tile.height - height) / 2
    )
  }
}

/// How large a contact sheet and its tiles may be.
package struct SheetLimits: Hashable, Sendable, CustomStringConvertible {
  private let pixelCount: Int
  /// Of a tile, whose pixels come from a decoder as a thumbnail.
  private let tilePixelCount: Int

  private static let maximumSide = ImageVariant.sideRange.upperBound
  /// The sheet is in memory, with three bytes for each.
  private static let maximumPixelCount = 64_000_000

  /// - Parameter limits: of the cluster, which encodes the sheet as a picture.
  package init(_ limits: Limits) {
    let bodyPixelCount =
      (limits.maxBodyByteCount - Int64(SheetCanvas.maximumHeaderByteCount))
      / Int64(SheetCanvas.bytesPerPixel)
    pixelCount = min(
      Self.maximumPixelCount, Int(clamping: min(limits.maxPixels, bodyPixelCount)))
    tilePixelCount =
      Int(clamping: limits.maxThumbnailByteCount) / ImagePixels.samplesPerPixel
  }

  func permit(_ layout: SheetLayout) -> Bool {
    max(layout.width, layout.height) <= Self.maximumSide
      && layout.width * layout.height <= pixelCount
      && layout.tile.width * layout.tile.height <= tilePixelCount
  }

  package var description: String {
    let millions = Double(pixelCount / 100_000) / 10
    return
      "a sheet has at most \(millions) megapixels (--max-body, --max-pixels) and \(Self.maximumSide) pixels a side, "
      + "and a tile \(tilePixelCount) pixels (--max-thumbnail)"
  }
}

/// The pixels of a contact sheet: a portable pixmap, which the cluster reads as a picture.
package struct SheetCanvas: ~Copyable {
  static let bytesPerPixel = 3
  static let maximumHeaderByteCount = 32

  package let layout: SheetLayout
  package private(set) var file: [UInt8]
  private let headerByteCount: Int

  package init(_ layout: SheetLayout, on background: RGBColour) {
    self.layout = layout
    let header = Array("P6\n\(layout.width) \(layout.height)\n255\n".utf8)
    headerByteCount = header.count
    let pixelCount = layout.width * layout.height
    let samples = [background.red, background.green, background.blue]
    file = []
    file.reserveCapacity(header.count + Self.bytesPerPixel * pixelCount)
    file += header
    for _ in 0..<pixelCount { file += samples }
  }

  /// Draws a picture into the middle of a tile. What it shows through is what was there.
  ///
  /// - Parameters:
  ///   - picture: no larger than a tile.
  ///   - index: of the tile, from 0.
  package mutating func draw(_ picture: ImagePixels, in index: Int) {
    let (x, y) = layout.corner(of: index, width: picture.width, height: picture.height)
    for row in 0..<picture.height {
      var place = headerByteCount + Self.bytesPerPixel * ((y + row) * layout.width + x)
      let samples = picture.row(row)
      for start in stride(
        from: samples.startIndex, to: samples.endIndex, by: ImagePixels.samplesPerPixel)
      {
        let alpha = Int(samples[start + 3])
        for sample in 0..<Self.bytesPerPixel {
          let below = Int(file[place])
          file[place] = UInt8(
            (Int(samples[start + sample]) * alpha + below * (255 - alpha) + 127) / 255)
          place += 1
        }
      }
    }
  }
}
