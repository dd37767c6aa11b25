import ImgCommands
import ImgModel
import ImgSettings
import Testing

/// Where options stand, and what every command takes.
extension InvocationTests {
  @Test(arguments: [
    "--json status 7", "status --json 7", "status 7 --json", "--json -q status 7",
    "--socket /s --json status 7", "--json -- status 7",
  ])
  func `options may precede or follow the command`(commandLine: String) throws {
    let status = try command(commandLine, as: StatusCommand.self)
    #expect(status.subject == .job(JobID(rawValue: 7)))
    #expect(status.isJSON)
  }

  @Test func `an option before the command may have a value`() throws {
    #expect(try settings("--socket list list").socketPath == "list")
    #expect(try settings("--socket=/s list").socketPath == "/s")
    #expect(try settings("--socket /s list --socket /t").socketPath == "/t")
    #expect(try command("-oa.png get http://h/", as: GetCommand.self).outputPath == "a.png")
    let networks = try settings("--allow-network 10.0.0.0/8 start --allow-network 127.0.0.0/8")
    #expect(networks.allowedNetworks.count == 2)
  }

  @Test func `an option may stand between the two words of a command`() throws {
    #expect(try command("--json cache stat", as: CacheStatCommand.self).isJSON)
    #expect(try command("cache --json stat", as: CacheStatCommand.self).isJSON)
  }

  @Test func `after two dashes there are no options`() throws {
    #expect(try command("get -- --json", as: GetCommand.self).picture == "--json")
    #expect(try !command("-- get --json", as: GetCommand.self).isJSON)
    #expect(try command("-- get --json", as: GetCommand.self).picture == "--json")
  }

  @Test func `the last value counts, unless the option is repeatable`() throws {
    let get = try command(
      "get http://h/ -o a.jpg -ob.jpg --size 1 --size 2 --fallback x --fallback y",
      as: GetCommand.self)
    #expect(get.outputPath == "b.jpg")
    #expect(get.options.variant.width == 2)
    #expect(get.fallbacks == ["x", "y"])
  }

  @Test func `a request is strict unless it is lenient`() throws {
    #expect(try !command("get http://h/", as: GetCommand.self).options.isLenient)
    #expect(try command("get http://h/ --lenient", as: GetCommand.self).options.isLenient)
    #expect(try command("submit a.txt --lenient", as: SubmitCommand.self).options.isLenient)
    let put = try command("cache put http://h/ a.jpg --lenient", as: CachePutCommand.self)
    #expect(put.options.isLenient)
    #expect(try command("cache get http://h/ --lenient", as: CacheGetCommand.self).isLenient)
  }

  /// Else an option in front of the command could hide its name.
  @Test func `a flag takes a value in all its commands or in none`() throws {
    var isValued: [String: Bool] = [:]
    for command in CommandTable.all {
      for option in command.grammar.options {
        let takesValue = option.placeholder != nil
        for name in [option.flag, option.shortFlag].compactMap(\.self) {
          #expect(isValued[name] ?? takesValue == takesValue, "\(command.words) \(name)")
          isValued[name] = takesValue
        }
      }
    }
    #expect(isValued["-q"] == false && isValued["-o"] == true)
  }

  @Test func `every command has --quiet`() throws {
    for command in CommandTable.all {
      #expect(command.grammar.options.contains { $0.flag == "--quiet" }, "\(command.words)")
    }
    for commandLine in ["-q status", "status -q", "status --quiet --json"] {
      guard case .run(_, _, let isQuiet) = try invocation(commandLine) else { continue }
      #expect(isQuiet)
    }
    guard case .run(_, _, isQuiet: false) = try invocation("status") else {
      throw UsageError("status is quiet by itself")
    }
  }
}
