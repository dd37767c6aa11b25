/// The parameters of `Runtime.evaluate`.
private struct Script: Encodable {
  let expression: String
  let awaitPromise = true
  let returnByValue = true
  let userGesture = true
}

/// The result of `Runtime.evaluate`.
private struct Evaluation<Value: Decodable>: Decodable {
  struct Result: Decodable {
    let value: Value
  }

  struct Fault: Decodable {
    struct Exception: Decodable {
      let description: String?
    }

    let exception: Exception?
  }

  enum CodingKeys: CodingKey {
    case result, exceptionDetails
  }

  let value: Value

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let fault = try container.decodeIfPresent(Fault.self, forKey: .exceptionDetails) {
      throw BrowserError(fault.exception?.description ?? "an exception")
    }
    value = try container.decode(Result.self, forKey: .result).value
  }
}

extension Browser {
  /// Opens an address. Its files need not be there yet.
  func open(_ url: String) async throws {
    struct Address: Encodable { let url: String }
    struct Navigation: Decodable { let errorText: String? }
    let result = try await call("Page.navigate", Address(url: url), as: Navigation.self)
    if let error = result.errorText { throw BrowserError("\(url): \(error)") }
  }

  /// The value of an expression in the page; a promise is awaited.
  func value<Value: Decodable>(
    of expression: String, as type: Value.Type = Value.self
  ) async throws -> Value {
    do {
      return try await call(
        "Runtime.evaluate", Script(expression: expression), as: Evaluation<Value>.self
      ).value
    } catch {
      throw BrowserError("\(expression): \(error)")
    }
  }

  /// The text of the first element of a selector.
  func text(of selector: String) async throws -> String {
    try await value(of: "document.querySelector(`\(selector)`).textContent")
  }

  /// The same as a person sees it.
  func shownText(of selector: String) async throws -> String {
    try await value(of: "document.querySelector(`\(selector)`).innerText")
  }

  func count(of selector: String) async throws -> Int {
    try await value(of: "document.querySelectorAll(`\(selector)`).length")
  }

  /// Runs a statement in the page.
  func run(_ statement: String) async throws {
    _ = try await value(of: "(async () => { \(statement); return true; })()", as: Bool.self)
  }

  /// Waits until a condition of the page is true. The page looks at it before each frame.
  func wait(until condition: String) async throws {
    try await run(
      """
      await new Promise((resolve, reject) => {
        const end = performance.now() + 20000;
        const look = () => {
          if (\(condition)) resolve();
          else if (performance.now() > end) reject(new Error("in vain: " + document.body.innerText));
          else requestAnimationFrame(look);
        };
        look();
      })
      """)
  }

  func wait(for selector: String) async throws {
    try await wait(until: "document.querySelector(`\(selector)`)")
  }

  func wait(for count: Int, of selector: String) async throws {
    try await wait(until: "document.querySelectorAll(`\(selector)`).length === \(count)")
  }

  /// Clicks in the middle of the first element of a selector.
  func click(_ selector: String) async throws {
    struct Mouse: Encodable {
      let type: String
      let x: Double
      let y: Double
      let button = "left"
      let clickCount = 1
    }
    let middle: [Double] = try await value(
      of: """
        (() => {
          const box = document.querySelector(`\(selector)`).getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        })()
        """)
    for type in ["mousePressed", "mouseReleased"] {
      try await call("Input.dispatchMouseEvent", Mouse(type: type, x: middle[0], y: middle[1]))
    }
  }

  /// A key of the keyboard, with its number in Windows, by which Chromium knows it.
  enum Key: String {
    case escape = "Escape"
    case tab = "Tab"
    case enter = "Enter"
    case left = "ArrowLeft"
    case right = "ArrowRight"

    fileprivate var number: Int {
      switch self {
      case .tab: 9
      case .enter: 13
      case .escape: 27
      case .left: 37
      case .right: 39
      }
    }
  }

  /// Presses and releases a key.
  func press(_ key: Key) async throws {
    struct Keyboard: Encodable {
      let type: String
      let key: String
      let code: String
      let windowsVirtualKeyCode: Int
      let text: String?
    }
    for type in ["keyDown", "keyUp"] {
      try await call(
        "Input.dispatchKeyEvent",
        Keyboard(
          type: type, key: key.rawValue, code: key.rawValue, windowsVirtualKeyCode: key.number,
          text: key == .enter && type == "keyDown" ? "\r" : nil))
    }
  }

  /// Types into the element that has the focus.
  func type(_ text: String) async throws {
    struct Typed: Encodable { let text: String }
    try await call("Input.insertText", Typed(text: text))
  }

  /// Cuts the connection of the page to all servers, or makes it again.
  func setOffline(_ isOffline: Bool) async throws {
    struct Conditions: Encodable {
      let offline: Bool
      let latency = 0
      let downloadThroughput = -1
      let uploadThroughput = -1
    }
    try await call("Network.emulateNetworkConditions", Conditions(offline: isOffline))
  }

  /// The colour of a pixel of the window: red, green and blue from 0 to 255.
  func colour(x: Int, y: Int) async throws -> [Int] {
    struct Part: Encodable {
      let x: Int
      let y: Int
      let width = 1
      let height = 1
      let scale = 1
    }
    struct Wanted: Encodable {
      let format = "png"
      let clip: Part
    }
    struct Screenshot: Decodable { let data: String }
    let offset: [Double] = try await value(of: "[scrollX, scrollY]")
    let clip = Part(x: x + Int(offset[0]), y: y + Int(offset[1]))
    let shot = try await call("Page.captureScreenshot", Wanted(clip: clip), as: Screenshot.self)
    return try await value(
      of: """
        (async () => {
          const image = new Image();
          image.src = "data:image/png;base64,\(shot.data)";
          await image.decode();
          const context = document.createElement("canvas").getContext("2d");
          context.drawImage(image, 0, 0);
          return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
        })()
        """)
  }

  /// The URLs that pages have requested, in their order.
  func requestedURLs() throws -> [String] {
    struct Sent: Decodable {
      struct Request: Decodable { let url: String }
      let request: Request
    }
    return try events.filter { $0.method == "Network.requestWillBeSent" }.map {
      try $0.parameters(as: Sent.self).request.url
    }
  }

  /// The errors and warnings of the console, and the exceptions that no code has caught.
  func complaints() throws -> [String] {
    struct Entry: Decodable {
      struct Content: Decodable {
        let level: String
        let text: String
      }
      let entry: Content
    }
    struct Output: Decodable { let type: String }
    struct Thrown: Decodable {
      struct Details: Decodable { let text: String }
      let exceptionDetails: Details
    }
    return try events.compactMap { event in
      switch event.method {
      case "Log.entryAdded":
        let entry = try event.parameters(as: Entry.self).entry
        return ["error", "warning"].contains(entry.level) ? entry.text : nil
      case "Runtime.consoleAPICalled":
        let type = try event.parameters(as: Output.self).type
        return ["error", "warning", "assert"].contains(type) ? "console: \(type)" : nil
      case "Runtime.exceptionThrown":
        return try event.parameters(as: Thrown.self).exceptionDetails.text
      default: return nil
      }
    }
  }
}

/// What a screen reader is told of an element.
struct AccessibleNode {
  /// Such as `button`.
  let role: String
  let name: String
  /// Names of properties that have a text, such as `live`, with that text.
  let properties: [String: String]
}

extension AccessibleNode: Decodable {
  private struct Text: Decodable {
    /// `nil` for a number or another value that is no text.
    let value: String?

    private enum CodingKeys: CodingKey { case value }

    init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      // Values of other types are of no use here.
      value = try? container.decode(String.self, forKey: .value)
    }
  }

  private struct Property: Decodable {
    let name: String
    let value: Text
  }

  private enum CodingKeys: CodingKey { case role, name, properties }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    role = try container.decodeIfPresent(Text.self, forKey: .role)?.value ?? ""
    name = try container.decodeIfPresent(Text.self, forKey: .name)?.value ?? ""
    let properties = try container.decodeIfPresent([Property].self, forKey: .properties) ?? []
    self.properties = Dictionary(
      properties.compactMap { property in property.value.value.map { (property.name, $0) } }
    ) { first, _ in first }
  }
}

extension Browser {
  /// What screen readers are told of the page, in its order. Elements that they pass over are left out.
  func accessibleNodes() async throws -> [AccessibleNode] {
    struct Nothing: Encodable {}
    struct Node: Decodable {
      let ignored: Bool
      let node: AccessibleNode

      private enum CodingKeys: CodingKey { case ignored }

      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        ignored = try container.decode(Bool.self, forKey: .ignored)
        node = try AccessibleNode(from: decoder)
      }
    }
    struct Tree: Decodable { let nodes: [Node] }
    let tree = try await call("Accessibility.getFullAXTree", Nothing(), as: Tree.self)
    return tree.nodes.filter { !$0.ignored }.map(\.node)
  }
}
