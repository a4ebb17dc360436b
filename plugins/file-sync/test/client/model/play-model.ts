import { folderOf, foldersAbove, inFolder, isWithin } from '../../../src/client/sync-paths.ts'
import { type DeviceWorld, ModelDevice } from './model-device.ts'
import { ModelNode } from './model-node.ts'
import { SimulatedTime } from './simulated-time.ts'

const minute = 60_000
const year = 365 * 24 * 60 * minute

/** Names that collide by case and by Unicode, and one that some disks cannot have. */
const names = ['a', 'b', 'c', 'A', 'B', 'é', 'e\u0301', 'É', 'dot.', 'x.txt', 'X.txt']

/**
 * Plays three devices and a node on simulated time: random edits, moves and deletions on all of them, disconnections, crashes, lost
 * disks, clocks that jump, restores, and a node that is put back to an older state by other means. Then everything is mended, and all must be the same, with every content that nobody deleted.
 *
 * @throws Error with the story of the seed
 */
export async function playModel(seed: number): Promise<void> {
  const lines: string[] = []
  try {
    await new Play(seed, (line) => lines.push(line)).run()
  } catch (error) {
    throw new Error(`Seed ${seed}: ${(error as Error).stack}\n${lines.join('\n')}`)
  }
}

class Play {
  readonly #time = new SimulatedTime()
  readonly #node = new ModelNode()
  readonly #faults = { network: 0, watch: 0 }
  readonly #random: () => number
  readonly #devices: ModelDevice[]
  /** Few names make more conflicts. */
  readonly #names: readonly string[]
  readonly #log: (line: string) => void
  /** Contents that a person made and did not take back. */
  readonly #wanted = new Set<string>()
  /** How often somebody took a content back. */
  readonly #unwanted = new Map<string, number>()
  /** Whether only the person of the first device changes anything. Then this disk stays as the person left it. */
  readonly #isAlone: boolean
  #count = 0
  #backup: ReturnType<ModelNode['backup']> | null = null
  #snapshot: ReturnType<ModelNode['snapshot']> | null = null

  constructor(seed: number, log: (line: string) => void) {
    this.#random = randomOf(seed)
    this.#names = names.slice(this.#integer(0, names.length - 2))
    const begin = this.#time.now
    this.#log = (line) => log(`${((this.#time.now - begin) / 1000).toFixed(3)} ${line}`)
    this.#isAlone = this.#chance(0.2)
    const world: DeviceWorld = {
      time: this.#time,
      node: this.#node,
      faults: this.#faults,
      random: this.#random,
      log: this.#log,
      alone: this.#isAlone ? 'one' : undefined,
    }
    this.#devices = ['one', 'two', 'three'].map((name, index) => {
      const isCaseSensitive = index < 2 || this.#chance(0.5)
      const skew = this.#chance(0.5) ? 0 : Math.round((this.#random() - 0.5) * 10 * 86_400_000)
      return new ModelDevice(name, world, { isCaseSensitive, skew })
    })
  }

  async run(): Promise<void> {
    for (const device of this.#devices) {
      // A filled folder is linked to a filled account.
      const isFilled = !this.#isAlone || device === this.#devices[0]
      if (isFilled) for (let count = this.#integer(0, 4); count > 0; count -= 1) this.#changeDisk(device)
      if (this.#chance(0.8)) device.start()
    }
    this.#faults.network = this.#chance(0.5) ? 0 : this.#random() * 0.3
    this.#faults.watch = this.#chance(0.5) ? 0 : this.#random() * 0.3
    // Much at once shows what meets in the middle of something; pauses show what is left behind.
    const pauses = this.#chance(0.5) ? [300, 300, 1500] : [300, 20_000]
    const rounds = this.#integer(5, 60)
    for (let round = 0; round < rounds; round += 1) {
      this.#happen()
      await this.#pass(this.#random() * this.#pick(pauses))
    }
    await this.#settle()
    this.#compare()
  }

  /** Lets something happen, mostly on a disk. */
  #happen(): void {
    const device = this.#pick(this.#devices)
    const { disk } = device
    const changed = this.#isAlone ? (this.#devices[0] as ModelDevice) : device
    const others: [weight: number, what: string | null, () => void][] = [
      [10, null, () => this.#changeNode()],
      [1, null, () => this.#node.expire()],
      [2, null, () => (this.#backup = this.#node.backup())],
      [2, null, () => this.#restore()],
      [2, null, () => (this.#snapshot = this.#node.snapshot())],
      [2, null, () => this.#putBack()],
    ]
    const happenings: [weight: number, what: string | null, () => void][] = [
      [51, null, () => this.#changeDisk(changed)],
      [4, 'is killed', () => device.kill()],
      [6, 'is started', () => device.start()],
      [4, 'goes offline', () => device.disconnect()],
      [3, 'loses the connection', () => device.cut()],
      [5, 'is online', () => (device.isOnline = true)],
      [2, 'loses its disk', () => (disk.isThere = false)],
      [3, 'has its disk', () => (disk.isThere = true)],
      [1, 'has a full disk, or not any more', () => (disk.isFull = !disk.isFull)],
      [2, 'has a clock that jumps', () => (device.skew = this.#jump())],
      ...(this.#isAlone ? [] : others),
    ]
    let dice = this.#random() * 100
    for (const [weight, what, happen] of happenings) {
      dice -= weight
      if (dice >= 0) continue
      if (what !== null) this.#log(`${device.name} ${what}`)
      happen()
      break
    }
  }

  /** Milliseconds by which a clock is wrong from now on: it is right, some days off, many years ahead, or begins in 1970. */
  #jump(): number {
    return this.#pick([0, Math.round((this.#random() - 0.5) * year), 70 * year, -this.#time.now])
  }

  #restore(): void {
    const backup = this.#backup
    if (backup === null) return
    this.#log('node: restored')
    this.#beginNode(() => this.#node.restore(backup))
  }

  /** The data folder of the node goes back to the snapshot of a disk, or to a copy of its files. */
  #putBack(): void {
    const snapshot = this.#snapshot
    if (snapshot === null) return
    const isCopied = this.#chance(0.5)
    this.#log(`node: put back, ${isCopied ? 'as a copy of its files' : 'as the snapshot of a disk'}`)
    this.#beginNode(() => {
      for (const add of this.#node.putBack(snapshot, isCopied)) this.#time.after(this.#random() * 5000, add)
    })
  }

  /** Starts the node with older files. */
  #beginNode(change: () => void): void {
    const former = this.#node.backup()
    change()
    for (const device of this.#devices) {
      // A device may learn late that its connection is lost, and may ask the restored node before.
      if (this.#chance(0.5)) device.cut()
      else this.#time.after(this.#random() * 3000, () => device.cut())
      device.isOnline = true
    }
    // Contents that no device had were lost with the node. A device that had one elsewhere than the node may just be removing it.
    const kept = new Set(contentsIn(this.#node.nodes.values()))
    for (const { disk } of this.#devices) {
      for (const each of disk.nodes.values()) {
        const there = former.get(each.path)
        if (each.type === 'file' && there?.type === 'file' && there.content === each.content)
          kept.add(each.content)
      }
    }
    for (const each of former.values())
      if (each.type === 'file' && !kept.has(each.content)) this.#unwant(each.content)
  }

  /** A person, or a program of theirs, changes the disk of a device. */
  #changeDisk(device: ModelDevice): void {
    const { disk } = device
    if (!disk.isThere) return
    const known = [...disk.nodes.values()].map((each) => each.path)
    const path = this.#chance(0.5) && known.length > 0 ? this.#pick(known) : disk.spelled(this.#path())
    const node = disk.find(path)
    const log = (what: string) => this.#log(`${device.name}: PERSON ${what}`)
    const isBlocked = (each: string) =>
      foldersAbove(each).some((folder) => disk.find(folder)?.type === 'file')
    const unwant = (each: string) => {
      for (const below of disk.within(each)) if (below.type === 'file') this.#unwant(below.content)
    }
    const dice = this.#integer(0, 10)
    if (dice < 3 && node?.type !== 'directory' && !isBlocked(path)) {
      unwant(path)
      const content = this.#content()
      log(`writes ${path}: ${content}`)
      disk.write(path, content, device.now)
    } else if (dice === 3 && node) {
      const deleted = disk.within(node.path)
      const contents = contentsIn(deleted).filter((content) => this.#wanted.has(content))
      unwant(node.path)
      log(`deletes ${node.path}`)
      disk.drop(node.path)
      this.#mayTakeBack(device, () => {
        if (disk.find(node.path) || isBlocked(node.path)) return
        log(`puts ${disk.spelled(node.path)} back`)
        disk.restore(deleted)
        // A deletion by somebody else may have arrived first.
        for (const content of contents) if (this.#unwanted.get(content) === 1) this.#wanted.add(content)
      })
    } else if (dice === 4 && !node && !isBlocked(path)) {
      log(`makes the folder ${path}`)
      disk.makeFolder(path)
    } else if ((dice === 5 || dice === 6) && node) {
      const target = disk.spelled(this.#path())
      const there = disk.find(target)
      const isInside =
        isWithin(disk.key(target), disk.key(node.path)) || isWithin(disk.key(node.path), disk.key(target))
      if (isBlocked(target) || (isInside && there !== node)) return
      if (there !== node) unwant(target)
      log(`moves ${node.path} to ${target}`)
      if (folderOf(target) !== '/' && !disk.find(folderOf(target))) disk.makeFolder(folderOf(target))
      disk.rename(node.path, target)
      const moved = disk.find(target)
      this.#mayTakeBack(device, () => {
        if (disk.find(target) !== moved || disk.find(node.path) || isBlocked(node.path)) return
        if (folderOf(node.path) !== '/' && !disk.find(folderOf(node.path))) return
        log(`moves ${target} back to ${disk.spelled(node.path)}`)
        disk.rename(target, node.path)
      })
    } else if (dice === 7 && node?.type === 'file') {
      const other = disk.find(this.#path())
      if (other?.type !== 'file' || node === other) return
      log(`swaps ${node.path} and ${other.path}`)
      disk.rename(node.path, '/swap')
      disk.rename(other.path, node.path)
      disk.rename('/swap', other.path)
    } else if (dice === 8 && node?.type === 'file') {
      log(`touches ${node.path}`)
      disk.write(node.path, node.content, device.now)
    } else if (dice === 9 && node?.type === 'file') {
      unwant(node.path)
      const content = this.#content()
      log(`edits ${node.path} and sets its time back: ${content}`)
      disk.write(node.path, content, node.modified)
    } else if (dice === 10 && node?.type === 'file') {
      // Some programs save a file by removing it and writing it anew.
      unwant(node.path)
      const content = this.#content()
      log(`saves ${node.path}: ${content}`)
      disk.drop(node.path)
      this.#time.after(this.#random() * 1500, () => {
        if (disk.isThere && disk.find(node.path) === undefined && !isBlocked(node.path))
          disk.write(node.path, content, device.now)
        else this.#unwant(content)
      })
    }
  }

  /** Lets a person take a change back, before or after the client has made it. */
  #mayTakeBack({ disk }: ModelDevice, takeBack: () => void): void {
    if (!this.#chance(0.3)) return
    this.#time.after(this.#random() * this.#pick([1500, 5000]), () => {
      if (disk.isThere) takeBack()
    })
  }

  /** Another program changes the files of the node. */
  #changeNode(): void {
    const node = this.#node
    const path = this.#path().normalize('NFC')
    const there = node.nodes.get(path)
    const record = (op: 'write' | 'delete' | 'mkdir', each: string) => {
      this.#time.after(this.#random() * 5000, node.expect(op, each))
    }
    const within = (folder: string) => [...node.nodes].filter(([each]) => isWithin(each, folder))
    const dice = this.#integer(0, 3)
    if (dice < 2) {
      const isBlocked = foldersAbove(path).some((each) => node.nodes.get(each)?.type === 'file')
      if (there?.type === 'directory' || isBlocked) return
      if (there) this.#unwant(there.content)
      const content = this.#content()
      this.#log(`node: PROGRAM writes ${path}: ${content}`)
      node.put(path, content, this.#time.now)
      for (const folder of foldersAbove(path)) record('mkdir', folder)
      record('write', path)
    } else if (dice === 2 && there !== undefined) {
      this.#log(`node: PROGRAM deletes ${path}`)
      for (const [, each] of within(path)) if (each.type === 'file') this.#unwant(each.content)
      node.drop(path)
      record('delete', path)
    } else if (dice === 3 && there !== undefined) {
      this.#count += 1
      const target = `/moved-${this.#count}`
      const move = (from: string, to: string) => {
        this.#log(`node: PROGRAM moves ${from} to ${to}`)
        node.rename(from, to)
        record('delete', from)
        for (const [each, { type }] of within(to)) record(type === 'file' ? 'write' : 'mkdir', each)
      }
      move(path, target)
      if (!this.#chance(0.3)) return
      this.#time.after(this.#random() * 5000, () => {
        const hasFolders = foldersAbove(path).every((each) => node.nodes.get(each)?.type === 'directory')
        if (hasFolders && !node.nodes.has(path) && node.nodes.get(target) === there) move(target, path)
      })
    }
  }

  /** Mends everything, and waits until all are the same. */
  async #settle(): Promise<void> {
    this.#log('everything is mended')
    this.#faults.network = 0
    this.#faults.watch = 0
    for (const device of this.#devices) {
      device.isOnline = true
      device.disk.isThere = true
      device.disk.isFull = false
    }
    for (let count = 0; count < 11; count += 1) {
      for (const device of this.#devices) device.start()
      await this.#pass(16 * minute)
      for (const device of this.#devices) device.engine?.confirmDeletions()
    }
    const isBusy = ({ engine }: ModelDevice) => engine?.status.isIdle !== true
    for (let count = 0; count < 20 && this.#devices.some(isBusy); count += 1) await this.#pass(7000)
  }

  #compare(): void {
    for (const { name, engine } of this.#devices) {
      if (engine?.status.isIdle !== true)
        throw new Error(`${name} is not idle: ${JSON.stringify(engine?.status)}`)
    }
    const wanted = [...this.#node.nodes].map(
      ([path, node]) => `${path}: ${node.type === 'file' ? node.content : ''}`,
    )
    for (const device of this.#devices) {
      const problems = [...(device.engine?.status.problems.keys() ?? [])]
      const isSynced = (line: string) => {
        const path = line.slice(0, line.lastIndexOf(': '))
        // A folder that was deleted here stays on the node if it has something that this disk cannot have.
        return !problems.some((problem) => isWithin(path, problem) || isWithin(problem, path))
      }
      const found = [...device.disk.nodes.values()].map(
        (node) => `${node.path}: ${node.type === 'file' ? node.content : ''}`,
      )
      const [one, other] = [wanted.filter(isSynced).sort(), found.filter(isSynced).sort()]
      if (JSON.stringify(one) !== JSON.stringify(other)) {
        const only = (lines: string[], others: string[]) =>
          lines.filter((line) => !others.includes(line)).join('\n  ')
        throw new Error(
          `Only the node has\n  ${only(one, other)}\nonly ${device.name} has\n  ${only(other, one)}`,
        )
      }
      if (device.disk.isCaseSensitive && problems.length > 0) {
        throw new Error(`${device.name} has problems: ${problems}`)
      }
    }
    // The trash is for what somebody has deleted, so it does not count.
    const kept = new Set(
      [this.#node, ...this.#devices.map(({ disk }) => disk)].flatMap(({ nodes }) =>
        contentsIn(nodes.values()),
      ),
    )
    const lost = [...this.#wanted].filter((content) => !kept.has(content))
    if (lost.length > 0) throw new Error(`Lost: ${lost}`)
  }

  async #pass(ms: number): Promise<void> {
    await this.#time.pass(ms)
    // A failure that no engine expects, and a broken rule, end the play.
    for (const device of this.#devices) device.check()
  }

  #unwant(content: string): void {
    this.#wanted.delete(content)
    this.#unwanted.set(content, (this.#unwanted.get(content) ?? 0) + 1)
  }

  #content(): string {
    this.#count += 1
    // Equal lengths: a program may write another content of the same size.
    const content = `content ${String(this.#count).padStart(4, '0')}`
    this.#wanted.add(content)
    return content
  }

  #path(): string {
    let path = '/'
    for (let depth = this.#pick([1, 1, 2, 2, 3]); depth > 0; depth -= 1)
      path = inFolder(path, this.#pick(this.#names))
    return path
  }

  #integer(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1))
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }

  #pick<T>(values: readonly T[]): T {
    return values[this.#integer(0, values.length - 1)] as T
  }
}

type FileOrFolder = { readonly type: 'directory' } | { readonly type: 'file'; readonly content: string }

function contentsIn(nodes: Iterable<FileOrFolder>): string[] {
  return [...nodes].flatMap((each) => (each.type === 'file' ? [each.content] : []))
}

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
