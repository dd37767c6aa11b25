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
          submit         fetch a list of URLs and store their thumbnails
          status         show the status of the cluster or of one job
          wait           show the progress of a job until it has ended
          watch          show every update of a job, for programs and people
          failures       list the failed URLs of a job: code, status, URL, reason
          retry          repeat the temporary failures of a job
          pause          start no more URLs of a job; running ones finish
          resume         continue a paused job
          cancel         stop a job; its thumbnails stay in the store
          priority       set the priority of a job
          unpin          let the store evict a job's thumbnails
          remove         remove ended jobs with their lists and outcomes
          recover        extract the intact jobs of a damaged journal
          list           list the jobs, newest first
          get            fetch one URL before all jobs and write its thumbnail
          info           tell the type, size and metadata of pictures
          export         write a job's thumbnails or facts as files, with a manifest
          cache stat     show the size of the store and its hit rate
          cache ls       list the thumbnails in the store
          cache get      write a stored thumbnail; fetch nothing
          cache put      store a file as the picture of a URL
          cache rm       remove all thumbnails of some URLs from the store
          cache clean    remove expired thumbnails from the store
          cache reset    remove everything from the store
          cache verify   read every record of the store and list damage
          cache compact  shrink the store's file to the size of its content
          serve          serve thumbnails and a gallery over HTTP
          limits         show the limits of the running coordinator, or change them
          start          start the coordinator with these settings
          stop           finish running work and stop the coordinator
          version        print the version

        imgctl help COMMAND describes one command.

        Options:
          -q, --quiet    Print results and errors only: no progress, no notes.
          -h, --help     Show this help.
          -V, --version  Print the version.

        Options may stand anywhere, also before the command. If an option is repeated,
        the last value counts, unless its help says Repeatable.

        Exit codes:
          0    success
          1    finished, some images failed
          2    wrong use, or something that cannot be done here
          3    no coordinator could be reached or started
          130  Ctrl-C while a job was watched; the job continues

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
          cache stat     show the size of the store and its hit rate
          cache ls       list the thumbnails in the store
          cache get      write a stored thumbnail; fetch nothing
          cache put      store a file as the picture of a URL
          cache rm       remove all thumbnails of some URLs from the store
          cache clean    remove expired thumbnails from the store
          cache reset    remove everything from the store
          cache verify   read every record of the store and list damage
          cache compact  shrink the store's file to the size of its content

        imgctl help COMMAND describes one command.

        """)
  }

  @Test(arguments: ["help submit", "submit --help", "submit -h --bogus", "-h submit"])
  func `the help of a command is complete`(commandLine: String) throws {
    #expect(try text(commandLine) == Self.submitHelp)
  }

  @Test func `every command has --json`() throws {
    let names = try text("help").split(separator: "\n").drop { $0 != "Commands:" }.dropFirst()
      .prefix { $0.hasPrefix("  ") }
      .map { $0.dropFirst(2).split(separator: "  ")[0] }
    #expect(names.count > 20)
    for name in names {
      #expect(try text("help \(name)").contains("\n  --json"), "\(name)")
    }
  }

  @Test func `the help of limits names no defaults`() throws {
    #expect(
      try text("help limits").contains(
        """
        Options:
          --transfers N             The maximum number of concurrent transfers.
          --transfers-per-host N    The maximum number of concurrent transfers from one
                                    host.
          --rate-per-host RATE      The maximum rate of transfer starts at one host,
                                    such as 5/s or 30/m, or "none".
          --default-expiry DURATION
                                    How long a thumbnail is kept if the request does not
                                    say.

        """))
  }

  @Test(arguments: [
    "submit", "status", "wait", "failures", "retry", "pause", "resume", "cancel", "priority",
    "unpin", "remove", "list", "get", "info", "export", "cache stat", "cache ls", "cache get",
    "cache rm",
    "cache clean",
    "cache reset", "cache verify", "limits", "start", "stop",
    "version",
  ])
  func `every command has a help of at most 80 columns with a valid example`(
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
    imgctl submit: fetch a list of URLs and store their thumbnails

    Usage:
      imgctl submit FILE|-... [options]

    Operands:
      FILE|-  The lists, one URL a line; - reads standard input. Several lists are
              one job, in their order. Empty lines and lines that begin with # are
              ignored. A URL without a scheme, such as example.org/a.jpg, is https.

    Options:
      --size WxH                The box in pixels; N means NxN. Repeatable: each
                                size is a thumbnail of its own, from one fetch and
                                one decode. Default: 256x256.
      --dpr RATIO               Multiply --size, --blur, --sharpen and --radius, for
                                screens with that many pixels for each of a page.
                                Default: 1.
      --mode MODE               fit: inside the box; fill: cover it; fill-down:
                                cover it and crop, and keep the proportions of the
                                box where the picture is smaller; auto: fill if
                                picture and box are both portraits or both
                                landscapes, else fit; stretch: exactly the box;
                                stretch-down: the box, or its proportions where the
                                picture is smaller; own-size: as large as it is, at
                                most the box. Default: fit.
      --crop[=PART]             Crop to the box; implies --mode fill. The part that
                                is kept: centre, attention (what people look at),
                                entropy (the most detail), or a point X,Y from 0,0
                                (upper left) to 1,1. --crop alone keeps the centre.
      --enlarge                 Enlarge pictures that are smaller than the box.
                                Default: they stay small; a drawing (SVG) fills the
                                box.
      --format FORMAT           auto, compatible, jpeg, png, webp, avif or gif; auto
                                is WebP for animations and for pictures with
                                transparency, else JPEG; compatible is GIF, PNG and
                                JPEG for the same. Default: auto.
      --quality Q               The quality of the encoder, from 1 to 100; PNG and
                                GIF ignore it. Default: 80.
      --frame N                 The frame of an animation or the page of a document,
                                counted from 0.
      --at TIME                 The frame that an animation shows at this time, such
                                as 1.25s, 500ms or 2m, at most 1d; after its end,
                                the last one.
      --poster                  The first frame that is not blank.
      --animated                All frames: the thumbnail of an animation is one, in
                                WebP or GIF. Neighbours that look alike are one
                                frame of a WebP, shown as long as both. It keeps
                                neither metadata nor profile, and its centre with
                                --crop=attention and --crop=entropy. Default: the
                                first frame.
      --grayscale               Without colours.
      --blur SIGMA              Blur, with this standard deviation in pixels of the
                                thumbnail.
      --sharpen SIGMA           Sharpen edges that are about so many pixels wide,
                                such as 0.5.
      --radius N                Round the corners with this radius in pixels; more
                                than half the box makes a circle of a square.
      --background COLOUR       Put this colour behind transparent pixels: white,
                                black, or digits such as ff8800. Default: they stay
                                transparent, and are white in JPEG.
      --thumb WHEN              Use the preview that a camera put into the file:
                                auto (HEIF and AVIF, where it is large enough),
                                always (wherever there is one) or never. Default:
                                auto.
      --keep-profile            Keep the colours and the profile of the file.
                                Default: colours become sRGB.
      --keep-metadata           Copy EXIF, XMP and IPTC, with the place if it is
                                there.
      --keep-copyright          Copy the author and the rights alone, as EXIF.
      --lenient                 Accept a damaged JPEG, PNG, GIF, TIFF, BMP, ICO or
                                PNM: its thumbnail shows what can be decoded, and is
                                marked as damaged. Default: it fails with
                                corrupt_image.
      --keep WHAT               What to store: none, thumbnail, original (the
                                picture as received) or all. With an original, other
                                sizes need no further fetch. Default: thumbnail.
      --expire-after DURATION   Keep the thumbnail this long after its download.
                                Also accepts "never", or a date like --expires-at.
                                Default: the coordinator's --default-expiry.
      --expires-at DATE         Keep the thumbnail until this date: 2027-01-01
                                (midnight UTC) or 2027-01-01T12:00:00+02:00.
      --expire-on-access        Restart the duration at each access to the
                                thumbnail.
      --delay DURATION          Wait this long before the first look-up or fetch.
                                Default: 0s.
      --cache-policy POLICY     cache-else-load: use the store, else fetch.
                                protocol: use the store while HTTP says fresh, else
                                ask the origin. reload: always fetch. cache-only:
                                use only the store. Default: cache-else-load.
      --header 'NAME: VALUE'|@FILE
                                Send this header, or those in a file (one a line),
                                with each request. A redirect to another origin does
                                not get it. Other users can see the command line
                                (ps), but not a file that only you can read (chmod
                                600). With other headers, a URL counts as another
                                picture. Repeatable.
      --header-env VARIABLE     Send the headers in this environment variable, one a
                                line. A coordinator that the command starts does not
                                get the variable. Repeatable.
      --cookies FILE            Send the cookies of this file to the domains and
                                paths that they are for. It has Netscape's format
                                (cookies.txt), as curl, wget and yt-dlp read it. A
                                URL with other cookies counts as another picture.
      --referer auto|URL        Send this Referer with each request, or with auto
                                the origin of the picture's own URL, such as
                                https://example.org/: many hosts refuse requests
                                without one. With it, a URL counts as another
                                picture.
      --netrc                   Send user name and password of ~/.netrc to the hosts
                                that it names. A list takes all its entries with it,
                                because it is sent while it is read; "default" is
                                ignored. With them, a URL counts as another picture.
      --netrc-file FILE         The same with another file in place of ~/.netrc.
      --ignore-query NAME       Ignore this query parameter in the picture's name,
                                such as a signature; * matches any text, as in
                                X-Amz-*. The URL is fetched unchanged. Repeatable.
      --respect-opt-out         Skip pictures whose origin sends X-Robots-Tag: noai,
                                noimageai, noindex or noimageindex; they end as
                                opted_out. The default for lists.
      --no-respect-opt-out      Ignore X-Robots-Tag. The default for get.
      --respect-robots          Obey each origin's robots.txt, which is kept for a
                                day. URLs that it disallows for imgctl end as
                                opted_out.
      --info-only               Store the facts of each picture, as imgctl info
                                prints them, in place of a thumbnail. A few KiB of
                                each picture are fetched. No option of thumbnails
                                goes with it.
      --priority P              From -2 (lowest) to 2 (highest). Default: 0.
      --order ORDER             fifo: the first line first; lifo: the last line
                                first. Transfers start in this order, but a line
                                whose host must wait does not delay later lines.
                                Default: fifo.
      --pin                     Keep the thumbnails in the store until they are
                                exported, or imgctl unpin JOB. Default: until the
                                job ends. While pinned thumbnails use up the store,
                                jobs wait for room.
      --no-pin                  Do not wait for room in the store: the job's later
                                thumbnails may replace earlier ones.
      --name TEXT               The name of the job in lists.
      --wait                    Show the progress, and return when the job has
                                ended.
      --json                    Print JSON: one object, or one object a line.
      --socket PATH             The socket of the coordinator. Default:
                                $XDG_RUNTIME_DIR/imgctl/control.sock, else
                                /tmp/imgctl-UID/control.sock.
      --data-dir DIR            The directory of jobs and thumbnails. Default:
                                $XDG_CACHE_HOME/imgctl, else ~/.cache/imgctl.
      --autostart yes|no        Start a coordinator if none answers. Default: yes,
                                but no for a socket below /run, except /run/user.
      -q, --quiet               Print results and errors only: no progress, no
                                notes.
      -h, --help                Show this help.

    Prints the number of the job, which other commands take as JOB.

    Examples:
      imgctl submit urls.txt
          Thumbnails that fit into 256x256.
      imgctl submit - --size 640x480 --crop --wait < urls.txt
          Thumbnails of exactly 640x480, cropped; returns when the job has ended.
      imgctl submit monday.txt tuesday.txt
          Two lists as one job.
      imgctl submit urls.txt --info-only
          Facts only; imgctl export writes them.

    """
}
