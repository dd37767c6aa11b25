/// What the command line asks for.
enum BenchInvocation {
  case makePictures(count: Int, directory: String)
  /// Pictures of 0.19 megapixels, as the peers are measured with.
  case makeSmallPictures(count: Int, directory: String)
  case measure(BenchOptions)
  /// A part of measuring that needs a process of its own.
  case storeProcess(StoreProcess)
  /// Another one.
  case fetchProcess(FetchProcess)
  /// A part of measuring the gateway.
  case loadProcess(LoadProcess)

  static let usage = """
    usage: imgbench pictures COUNT DIR
           imgbench small-pictures COUNT DIR
           imgbench measure --programs DIR --pictures DIR --list FILE --work DIR
                            --origin-process PID --rounds N --list-lengths N,…
                            --store-sizes N,… [--only-lists] [--only-store]
                            [--only-transfers] [--only-client] [--quick] [--json]
                            [--peers ROW,…|all] [--peer-programs DIR]
                            [--peer-scripts DIR] [--large-pictures DIR]
    """

  init(_ arguments: [String]) throws(BenchError) {
    switch arguments.first {
    case "pictures":
      guard arguments.count == 3, let count = Int(arguments[1]), count > 0 else { fallthrough }
      self = .makePictures(count: count, directory: arguments[2])
    case "small-pictures":
      guard arguments.count == 3, let count = Int(arguments[1]), count > 0 else { fallthrough }
      self = .makeSmallPictures(count: count, directory: arguments[2])
    case "measure":
      self = .measure(try BenchOptions(arguments.dropFirst()))
    case "store-process":
      self = .storeProcess(try StoreProcess(arguments: arguments))
    case LoadProcess.name: self = .loadProcess(LoadProcess())
    case FetchProcess.name:
      self = .fetchProcess(try FetchProcess(arguments: arguments))
    default:
      throw BenchError(Self.usage)
    }
  }
}

/// What is measured, where and how often.
struct BenchOptions {
  /// Where imgctl, imgcoordinator and imgworker lie.
  private(set) var programDirectory = ""
  /// The pictures that the origin serves.
  private(set) var pictureDirectory = ""
  /// Their URLs, one a line.
  private(set) var listPath = ""
  /// For data and lists of a run. The caller removes it.
  private(set) var workDirectory = ""
  private(set) var originProcessID: Int32 = 0
  private(set) var rounds = 5
  /// The lengths of the long lists.
  private(set) var listLineCounts: [Int] = []
  /// How many thumbnails the stores have whose costs are compared.
  private(set) var storeSizes: [Int] = []
  /// Whether nothing but the long lists is measured.
  private(set) var isOnlyLists = false
  /// Whether nothing but the store is measured.
  private(set) var isOnlyStore = false
  /// Whether nothing but transfers is measured.
  private(set) var isOnlyTransfers = false
  /// Whether nothing but the library is measured.
  private(set) var isOnlyClient = false
  /// If a row is named, nothing but the table of peers is measured.
  private(set) var peers = PeerOptions()
  /// Whether everything is done on a tenth of the scale, to try the measuring out.
  private(set) var isQuick = false
  private(set) var isJSON = false

  init(_ arguments: ArraySlice<String>) throws(BenchError) {
    var rest = arguments
    while let flag = rest.popFirst() {
      switch flag {
      case "--only-lists": isOnlyLists = true
      case "--only-store": isOnlyStore = true
      case "--only-transfers": isOnlyTransfers = true
      case "--only-client": isOnlyClient = true
      case "--quick": isQuick = true
      case "--json": isJSON = true
      default: try set(flag, to: rest.popFirst())
      }
    }
    guard rounds > 0, originProcessID > 0,
      (listLineCounts + storeSizes).allSatisfy({ $0 > 0 }),
      ![programDirectory, pictureDirectory, listPath, workDirectory].contains("")
    else { throw BenchError(BenchInvocation.usage) }
  }

  private mutating func set(_ flag: String, to value: String?) throws(BenchError) {
    guard let value else { throw BenchError("\(flag) needs a value") }
    switch flag {
    case "--programs": programDirectory = value
    case "--pictures": pictureDirectory = value
    case "--list": listPath = value
    case "--work": workDirectory = value
    case "--origin-process": originProcessID = Int32(value) ?? 0
    case "--rounds": rounds = Int(value) ?? 0
    case "--list-lengths": listLineCounts = Self.numbers(value)
    case "--store-sizes": storeSizes = Self.numbers(value)
    case "--peers": peers.rows = try PeerRow.rows(named: value)
    case "--peer-programs": peers.programDirectory = value
    case "--peer-scripts": peers.scriptDirectory = value
    case "--large-pictures": peers.largePictureDirectory = value
    default: throw BenchError("\(flag) is not known\n\(BenchInvocation.usage)")
    }
  }

  /// Numbers with commas between them; 0 for what is none.
  private static func numbers(_ text: String) -> [Int] {
    text.split(separator: ",").map { Int($0) ?? 0 }
  }

  /// `count`, or a tenth of it in a quick run.
  func scaled(_ count: Int) -> Int {
    isQuick ? max(count / 10, 1) : count
  }
}
