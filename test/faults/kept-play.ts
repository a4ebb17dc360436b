import assert from 'node:assert/strict'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { Round } from './fault.ts'
import { isWithin, parentsOf } from './files-tree.ts'
import { CrashingDisk } from './fixtures/crashing-disk.ts'
import {
  type CrashingNode,
  type StorageKind,
  startCrashingNode,
  storageFolder,
} from './fixtures/crashing-node.ts'
import { replay } from './fixtures/plugin-fixtures.ts'
import { type Answer, ask, makeChange } from './kept-changes.ts'
import { contentsByApi } from './kept-contents.ts'
import { type Kept, type KeptChange, KeptModel, sizeOf, surplus } from './kept-model.ts'
import { RandomChanges } from './kept-random-changes.ts'
import { ageKept, checkLinks, type KeptPlace, readState } from './kept-state.ts'
import type { Random } from './random.ts'

/** Lives of the node in a round. Each but the last one ends with a crash, or with faults that were survived. */
const lives = 2

/** Changes of a life, at most. */
const mostChanges = 25

/** Bytes that the user may store. */
const quota = 1200

/** Half of the rounds are on a disk, the others on object stores. */
const kinds: readonly StorageKind[] = ['disk', 'moves', 'disk', 'copies']

/** A change that was made, and may be taken back. */
interface Group {
  readonly name: string
  /** The files before it. */
  readonly before: KeptModel
  /** The number of changes until then. */
  readonly count: number
}

/** The files of one user, and a model of them. */
export class KeptPlay {
  readonly #round: Round
  readonly #random: Random
  readonly #kind: StorageKind
  readonly #dataFolder: string
  readonly #changes: RandomChanges
  #model = new KeptModel()
  #place: KeptPlace | null = null
  #gone: ReadonlySet<string> = new Set()
  #goneBytes = 0
  #disk = new CrashingDisk()
  #node: CrashingNode | null = null
  #groups: Group[] = []
  #count = 0

  constructor(round: Round, dataFolder: string) {
    this.#round = round
    this.#random = round.random
    this.#kind = kinds[round.seed % kinds.length] ?? 'disk'
    this.#dataFolder = dataFolder
    this.#changes = new RandomChanges(round.random)
  }

  async run(): Promise<void> {
    try {
      for (let life = 1; life <= lives; life += 1) {
        if (this.#node === null) await this.#start()
        if (life === 1) this.#model = await this.#read()
        await this.#live(life < lives)
        if (life < lives) await this.#age()
      }
      await this.#checkByApi()
    } finally {
      await this.#node?.stop()
    }
  }

  /** Starts the node. It may crash on its way as often as it is told to. */
  async #start(crashes = 0): Promise<CrashingNode> {
    const session = this.#node?.session ?? null
    for (let crash = 0; ; crash += 1) {
      const disk = new CrashingDisk()
      if (crash < crashes) disk.crashAt(this.#random.integer(1, 40), this.#random.chance(0.5))
      this.#disk = disk
      const node = await startCrashingNode({
        dataFolder: this.#dataFolder,
        kind: this.#kind,
        quota,
        disk,
        session,
      })
      if (node === null) continue
      this.#node = node
      this.#place ??= {
        dataFolder: this.#dataFolder,
        root: join(this.#dataFolder, storageFolder),
        uuid: node.session.uuid,
      }
      return node
    }
  }

  /** Makes random changes until the node has crashed and starts again, or for a while. */
  async #live(mayCrash: boolean): Promise<void> {
    const random = this.#random
    if (mayCrash) this.#disk.crashAt(random.integer(1, 100), random.chance(0.5))
    for (let count = 0; count < mostChanges && !this.#disk.hasCrashed; count += 1) {
      const change = this.#changes.draw(this.#model, this.#groups)
      if (change !== null) await this.#make(change, mayCrash && random.chance(0.2))
    }
    if (this.#disk.hasCrashed) await this.#startAgain(null)
    this.#disk.crashAt(Number.POSITIVE_INFINITY, false)
    await this.#check()
  }

  /** @param mayFail whether one step of the disk fails on the way */
  async #make(change: KeptChange, mayFail: boolean): Promise<void> {
    const { log } = this.#round
    const before = this.#model
    if (mayFail) this.#disk.failAt(this.#random.integer(1, 10), this.#random.pick(['EIO', 'ENOSPC']))
    const answer = await makeChange(this.#running, change, this.#gone)
    const hasFailed = this.#disk.endFaults()
    const hasCrashed = this.#disk.hasCrashed
    const how = hasCrashed ? ', crashed' : hasFailed ? ', with a fault' : ''
    log(`${this.#kind}: ${JSON.stringify(change)}: ${answer.status}${how}`)
    this.#count += 1
    if (hasCrashed && (answer.status !== 200 || change.op === 'undo' || this.#needsRoom(change)))
      return this.#startAgain(change)
    if (answer.status !== 200 && hasFailed) {
      // A person reads these answers.
      assert.ok(answer.status !== 500, `${answer.status} ${answer.text}`)
      return this.#takeOver(before, change, await this.#read())
    }
    if (change.op === 'undo') await this.#checkUndone(before, change, answer)
    else await this.#checkMade(before, change, answer)
    // An undo that finds nothing to do leaves nothing to take back.
    if (answer.undo !== null && !isDeepStrictEqual(before.summary(), this.#model.summary()))
      this.#groups.push({ name: answer.undo, before, count: this.#count })
  }

  async #checkMade(
    before: KeptModel,
    change: Exclude<KeptChange, { op: 'undo' }>,
    { status, text }: Answer,
  ): Promise<void> {
    const after = before.after(change)
    const needed = before.bytesFor(change, this.#kind)
    const { most, least } = before.bytes
    const said = `${status} ${text}`
    if (status === 507) {
      assert.ok(needed > 0 && most + this.#goneBytes + needed > quota, said)
      this.#model = before
    } else if (after === null) {
      assert.ok([400, 404, 409].includes(status), said)
    } else {
      assert.equal(status, 200, said)
      assert.ok(needed === 0 || least + needed <= quota || before.mayGiveWay, `${needed} bytes have no room`)
      this.#model = after
    }
    // Only a look tells what has given way.
    if (this.#needsRoom(change, before)) await this.#takeOver(before, change, await this.#read())
  }

  /** Whether something may have given way to a change. */
  #needsRoom(change: KeptChange, before = this.#model): boolean {
    const needed = before.bytesFor(change, this.#kind)
    return needed > 0 && before.bytes.most + this.#goneBytes + needed > quota && before.mayGiveWay
  }

  async #checkUndone(
    before: KeptModel,
    { group }: { readonly group: string },
    { status, text }: Answer,
  ): Promise<void> {
    const undone = this.#groups.find(({ name }) => name === group)
    const isLatest = undone?.count === this.#count - 1
    const said = `${status} ${text}`
    // It may need what a broken-off deletion has removed.
    const isIncomplete = status === 404 && this.#gone.size > 0
    if (isLatest || !(status === 409 || isIncomplete)) assert.equal(status, 200, said)
    if (status === 409) return
    const found = await this.#read()
    assert.deepEqual(surplus(found.contents, before.contents), [], 'an undo makes no content')
    const kept = surplus(before.contents, orphanedIn(before))
    assert.deepEqual(surplus(kept, found.contents), [], 'an undo loses no content')
    this.#model = found
    if (!isLatest || undone === undefined) return
    for (const [path, { content }] of undone.before.tree)
      assert.equal(found.tree.get(path)?.content, content, `${path} is back`)
    for (const [path, { content }] of found.tree)
      assert.ok(
        undone.before.tree.has(path) || (content === null && before.tree.has(path)),
        `${path} is gone`,
      )
  }

  /** Starts the node after a crash. @param asked the change without an answer */
  async #startAgain(asked: KeptChange | null): Promise<void> {
    const before = this.#model
    await this.#running.stop()
    await this.#start(this.#random.chance(0.3) ? 1 : 0)
    if (this.#disk.hasCrashed) {
      await this.#running.stop()
      await this.#start()
    }
    this.#disk.crashAt(Number.POSITIVE_INFINITY, false)
    await this.#takeOver(before, asked, await this.#read())
  }

  /**
   * Takes over the files that are there after a change without a good answer, which must not have lost or mixed anything.
   *
   * @param asked the change; null for none
   */
  async #takeOver(before: KeptModel, asked: KeptChange | null, found: KeptModel): Promise<void> {
    const after = asked === null || asked.op === 'undo' ? null : before.after(asked)
    this.#model = found
    const isAs = (wanted: KeptModel) => {
      try {
        assert.deepEqual(found.summary(), wanted.summary())
        return surplus(found.contents, wanted.contents).length === 0
      } catch {
        return false
      }
    }
    if (isAs(before) || (after !== null && isAs(after))) return
    const place = asked === null ? null : this.#placeOf(before, asked)
    if (place !== null && parentsOf(place).some((_, index) => isAs(before.withParents(place, index + 1))))
      return
    const gaveWay = asked !== null && this.#needsRoom(asked, before)
    if (asked === null || (isOneStep(asked, this.#kind) && !gaveWay))
      assert.deepEqual(found.summary(), (after ?? before).summary(), 'the files are as before or as after')
    const mayCome = surplus((after ?? before).contents, before.contents)
    // A move that copies has both for a moment.
    if (asked?.op === 'move' && this.#kind === 'copies') mayCome.push(...before.contentsIn(asked.source))
    const wanted = after ?? before
    const mayGo = surplus(before.contents, surplus(wanted.contents, orphanedIn(wanted)))
    const free = gaveWay ? before.kept.filter(({ age }) => age !== 'new') : []
    for (const { entries } of free)
      mayGo.push(...[...entries.values()].flatMap(({ content }) => content ?? []))
    assert.deepEqual(surplus(surplus(found.contents, before.contents), mayCome), [], 'nothing else is there')
    assert.deepEqual(surplus(surplus(before.contents, found.contents), mayGo), [], 'nothing is lost')
    if (asked?.op === 'undo') return
    // A folder that is replaced is kept with all that is in it before the other one comes, which may have the same contents.
    const isReplaced = (path: string) =>
      place !== null && before.tree.get(place)?.content === null && isWithin(path, place)
    for (const [path, { content }] of before.tree) {
      if (isReplaced(path)) continue
      if ((after ?? before).tree.get(path)?.content === content)
        assert.equal(found.tree.get(path)?.content, content, `${path} is as it was`)
    }
    for (const [path] of found.tree)
      assert.ok(
        before.tree.has(path) || after?.tree.has(path) || (place !== null && parentsOf(place).includes(path)),
        `${path} is new`,
      )
  }

  /** The path at which a change puts something. */
  #placeOf(before: KeptModel, change: KeptChange): string | null {
    if (change.op === 'restore') return before.restoredPath(change)
    return 'path' in change ? change.path : null
  }

  /** Stops the node, lets some time pass for what is kept, and waits until the node has purged it. */
  async #age(): Promise<void> {
    const random = this.#random
    if (random.chance(0.7)) return
    await this.#running.stop()
    ageKept(this.#known, () => random.pick<Kept['age']>(['new', 'new', 'day', 'month']))
    const expected = (await readState(this.#known)).model.purged()
    this.#count += 1
    await this.#start(random.chance(0.5) ? 1 : 0)
    const end = Date.now() + 30_000
    for (;;) {
      if (this.#disk.hasCrashed) {
        await this.#running.stop()
        await this.#start()
      }
      try {
        this.#model = await this.#read()
        assert.deepEqual(this.#model.summary(), expected.summary(), 'it is purged')
        assert.deepEqual(surplus(this.#model.contents, expected.contents), [])
        break
      } catch (error) {
        // The purge runs, or the node has crashed.
        if (Date.now() > end || !(error instanceof Error)) throw error
        await delay(5, undefined, { signal: this.#round.signal })
      }
    }
    this.#disk.crashAt(Number.POSITIVE_INFINITY, false)
    this.#round.log(`purged: ${JSON.stringify(this.#model.summary())}`)
  }

  /** Compares the files with the model. */
  async #check(): Promise<void> {
    const found = await this.#read()
    assert.deepEqual(found.summary(), this.#model.summary())
    assert.deepEqual(surplus(found.contents, this.#model.contents), [])
    const usage = (await (
      await ask(this.#running, '/api/files/usage')
    ).json()) as NodeAnswers['GET /api/files/usage']
    const { most, least } = found.bytes
    const taken = usage.quota?.taken ?? -1
    assert.ok(
      taken >= least && taken <= most + this.#goneBytes,
      `${taken} bytes are counted, and ${least} to ${most} are there`,
    )
    this.#model = found
  }

  /** Reads the files, and compares the journal with them. */
  async #read(): Promise<KeptModel> {
    const { uuid } = this.#known
    // The index has all outcomes then.
    const recorded = replay(await this.#running.services.recorded(uuid))
    const { model: found, gone, goneBytes } = await readState(this.#known)
    this.#gone = gone
    this.#goneBytes = goneBytes
    const sizes = [...found.tree].map(([path, { content }]) => [path, content && sizeOf(content)])
    recorded.delete('/')
    assert.deepEqual([...recorded].sort(), sizes.sort(), 'the journal has other files')
    return found
  }

  /** Restores everything, and reads it as a person does. */
  async #checkByApi(): Promise<void> {
    const wanted = this.#model.contents
    const found = await contentsByApi(this.#running, this.#gone)
    assert.deepEqual(
      found.sort(),
      surplus(wanted, orphanedIn(this.#model)).sort(),
      'the API gives all contents back',
    )
    await this.#running.stop()
    this.#node = null
    await checkLinks(this.#known)
  }

  get #running(): CrashingNode {
    if (this.#node === null) throw new Error('The node does not run.')
    return this.#node
  }

  get #known(): KeptPlace {
    if (this.#place === null) throw new Error('The node was never there.')
    return this.#place
  }
}

/** Whether a change happens as a whole or not at all. */
function isOneStep(change: KeptChange, kind: StorageKind): boolean {
  if (['write', 'mkdir', 'restore version', 'delete version'].includes(change.op)) return true
  return kind === 'disk' && ['delete', 'move', 'copy', 'restore'].includes(change.op)
}

/** The contents of versions of files that are gone. */
function orphanedIn({ orphans }: KeptModel): string[] {
  return orphans.flatMap(({ entries }) => entries.get('')?.content ?? [])
}
