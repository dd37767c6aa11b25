import ImgCommands
import ImgModel
import ImgSettings
import Testing

@Suite struct HelpTests {
  private func text(_ commandLine: String) throws -> String {
    let invocation = try Invocation(
      arguments: commandLine.split(separator: " ").map(String.init), environment: [:], userID: 1)
    guard case .print(let text) = invocation else {
      throw UsageError("\(commandLine) runs")
    }
    return text
  }

  @Test(arguments: ["--version", "-V", "-qV", "--json --version", "-V status 7"])
  func `the version is that of the build`(commandLine: String) throws {
    #expect(try text(commandLine) == "imgctl \(Build.version)\n")
  }

  @Test(arguments: ["", "help", "--help", "-h", "--json --help", "help help"])
  func `the overview lists the commands and the exit codes`(commandLine: String) throws {
    #expect(
      try text(commandLine) == """
        imgctl: fetch images by URL and keep their thumbnails

        Usage:
          imgctl COMMAND [operands] [options]

        Commands:
          submit         fetch a list of URLs and keep their thumbnails
          status         show how the cluster or one job is
          wait           wait until a job has ended, and show how far it is
          failures       list the URLs of a job that failed: code, status, URL, reason
          retry          try again what of a job failed and may pass by itself
          pause          let nothing more of a job begin; what runs is finished
          resume         let a paused job go on where it was
          cancel         stop a job; what it has made stays
          priority       make a job more or less urgent than others
          remove         forget jobs that have ended: lists and outcomes
          recover        extract the jobs that are intact in a damaged journal
          list           list the jobs, the newest first
          get            fetch one URL before all jobs and write its thumbnail
          export         write a job's thumbnails as files, with a manifest
          cache stat     show how much the store holds, and how it is used
          cache ls       list the thumbnails in the store
          cache get      write a thumbnail that is in the store; fetch nothing
          cache put      store a thumbnail of a file as that of a URL
          cache rm       remove every thumbnail of some URLs from the store
          cache clean    remove what has expired from the store
          cache reset    remove everything from the store
          cache verify   read everything in the store and say what is damaged
          cache compact  make the store's file as small as what it holds
          limits         show the limits of the running coordinator, or change them
          start          start the coordinator; other commands do so themselves
          stop           finish what runs and stop the coordinator
          version        print the version

        imgctl help COMMAND tells more about one.

        Options:
          -q, --quiet    Print results and errors only: no progress, no notes.
          -h, --help     Show this help.
          -V, --version  Print the version.

        Options stand anywhere, also before the command. The last value of a repeated
        option counts, or each where the help says so.

        Exit codes:
          0    all well
          1    finished, some images failed
          2    wrong use, or something that cannot be done here
          3    no coordinator could be reached or started
          130  Ctrl-C while a job was watched; the job goes on

        """)
  }

  @Test(arguments: ["help cache", "cache --help", "cache -h", "--json cache -h"])
  func `a group lists its commands`(commandLine: String) throws {
    #expect(
      try text(commandLine) == """
        imgctl: fetch images by URL and keep their thumbnails

        Usage:
          imgctl cache COMMAND [operands] [options]

        Commands:
          cache stat     show how much the store holds, and how it is used
          cache ls       list the thumbnails in the store
          cache get      write a thumbnail that is in the store; fetch nothing
          cache put      store a thumbnail of a file as that of a URL
          cache rm       remove every thumbnail of some URLs from the store
          cache clean    remove what has expired from the store
          cache reset    remove everything from the store
          cache verify   read everything in the store and say what is damaged
          cache compact  make the store's file as small as what it holds

        imgctl help COMMAND tells more about one.

        """)
  }

  @Test(arguments: ["help submit", "submit --help", "submit -h --bogus", "-h submit"])
  func `the help of a command tells all of it`(commandLine: String) throws {
    #expect(try text(commandLine) == Self.submitHelp)
  }

  @Test func `every command prints JSON when it is asked to`() throws {
    let names = try text("help").split(separator: "\n").drop { $0 != "Commands:" }.dropFirst()
      .prefix { $0.hasPrefix("  ") }
      .map { $0.dropFirst(2).split(separator: "  ")[0] }
    #expect(names.count > 20)
    for name in names {
      #expect(try text("help \(name)").contains("\n  --json"), "\(name)")
    }
  }

  @Test func `the help of limits names no defaults, because what is not given stays`() throws {
    #expect(
      try text("help limits").contains(
        """
        Options:
          --transfers N             Transfers under way at a time.
          --transfers-per-host N    Transfers from one host at a time.
          --rate-per-host RATE      Transfers begun at one host in a time, such as 5/s
                                    or 30/m, or "none" for any number.
          --default-expiry DURATION
                                    How long a thumbnail is kept when the request does
                                    not say.

        """))
  }

  @Test(arguments: [
    "submit", "status", "wait", "failures", "retry", "pause", "resume", "cancel", "priority",
    "remove", "list", "get", "export", "cache stat", "cache ls", "cache get", "cache rm",
    "cache clean",
    "cache reset", "cache verify", "limits", "start", "stop",
    "version",
  ])
  func `every command has a help of at most 80 columns, with an example that it reads`(
    command: String
  ) throws {
    let help = try text("help \(command)")
    #expect(help.hasPrefix("imgctl \(command): "))
    #expect(help.split(separator: "\n").allSatisfy { $0.count <= HelpText.width })
    let examples = help.split(separator: "\n").drop { $0 != "Examples:" }
      .filter { $0.hasPrefix("  imgctl") }
    #expect(!examples.isEmpty)
    for example in examples {
      let words = example.split(separator: " ").prefix { $0 != "<" }.dropFirst().map(String.init)
      #expect(throws: Never.self) {
        try Invocation(arguments: words, environment: ["HOME": "/h"], userID: 1)
      }
    }
  }

  private static let submitHelp = """
    imgctl submit: fetch a list of URLs and keep their thumbnails

    Usage:
      imgctl submit FILE|- [options]

    Operands:
      FILE|-  The list, one URL a line; - reads standard input. Empty lines and
              lines that begin with # do not count. Without a scheme, as in
              example.org/a.jpg, a URL is https.

    Options:
      --size WxH                The box in pixels; one number N is NxN. Default:
                                256x256.
      --mode MODE               fit: inside the box; fill: cover it; stretch:
                                exactly the box. Default: fit.
      --crop                    Cut off what sticks out of the box; goes with fill,
                                and implies it.
      --format FORMAT           auto, jpeg, png, webp or avif; auto is JPEG, or WebP
                                where there is transparency. Default: auto.
      --quality Q               Of the encoder, from 1 to 100. Default: 80.
      --keep WHAT               none, thumbnail, original (the picture as it came)
                                or all; from an original, other sizes are made
                                without another fetch. Default: thumbnail.
      --expire-after DURATION   Keep the thumbnail so long after its download; a
                                date as of --expires-at, or "never", will do too.
                                Default: as the coordinator is set.
      --expires-at DATE         Keep the thumbnail until then: 2027-01-01, which is
                                that day's beginning in UTC, or
                                2027-01-01T12:00:00+02:00.
      --expire-on-access        Count the duration anew from each access to the
                                thumbnail.
      --delay DURATION          Wait so long before anything is looked up or
                                fetched. Default: 0s.
      --cache-policy POLICY     cache-else-load: what the store has, else the
                                origin's; protocol: what the store has while it is
                                fresh by HTTP, else what the origin says; reload:
                                the origin's; cache-only: what the store has.
                                Default: cache-else-load.
      --header 'NAME: VALUE'|@FILE
                                Send this header with each request, but to no other
                                origin after a redirect; or those in a file, one a
                                line. Other users see the command line of a process
                                (ps), but no file that only you may read (chmod
                                600). A picture that was asked for with other
                                headers is another one. Repeatable.
      --header-env VARIABLE     Send the headers in this environment variable,
                                written as in a file. The variable is not passed on
                                to a coordinator that the command starts.
                                Repeatable.
      --ignore-query NAME       A parameter of the URL that changes nothing about
                                the picture, such as a signature; in the name, *
                                stands for any text, as in X-Amz-*. The URL is
                                fetched as it is. Repeatable.
      --respect-opt-out         Do not use a picture whose origin says noai,
                                noimageai, noindex or noimageindex in an
                                X-Robots-Tag; it ends as opted_out. Lists do so by
                                themselves.
      --no-respect-opt-out      Use such a picture all the same. A get does so by
                                itself.
      --respect-robots          Ask each origin's robots.txt first, which is
                                remembered for a day, and do not fetch what it
                                closes to imgctl; that ends as opted_out.
      --priority P              From -2, the least, to 2, the most urgent. Default:
                                0.
      --order ORDER             fifo: the first line first; lifo: the last line
                                first. Transfers begin in this order; a line whose
                                host has to wait lets later ones pass. Default:
                                fifo.
      --name TEXT               What the job is called in lists.
      --wait                    Wait until the job has ended, and show how far it
                                is.
      --json                    Print JSON: one object, or one a line where there
                                are many.
      --socket PATH             Where the coordinator listens. Default:
                                $XDG_RUNTIME_DIR/imgctl/control.sock, else
                                /tmp/imgctl-UID/control.sock.
      --data-dir DIR            Where jobs and thumbnails are kept. Default:
                                $XDG_CACHE_HOME/imgctl, else ~/.cache/imgctl.
      --autostart yes|no        Whether to start a coordinator when none answers.
                                Default: yes, but no for a socket below /run, except
                                /run/user.
      -q, --quiet               Print results and errors only: no progress, no
                                notes.
      -h, --help                Show this help.

    Prints the job's number, by which other commands know it.

    Examples:
      imgctl submit urls.txt
          Every picture inside 256x256.
      imgctl submit - --size 640x480 --crop --wait < urls.txt
          Pictures of exactly 640x480, cut where they stick out; ends when the job
          has.

    """
}
