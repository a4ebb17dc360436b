import assert from 'node:assert/strict'
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, Round } from './fault.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { copyData } from './fixtures/plugin-fixtures.ts'
import type { Random } from './random.ts'
import { SteadyAddress } from './steady-address.ts'
import { contentsOf, SyncedDevice, treeOf } from './synced-device.ts'

const program = new URL('./fixtures/sync-node.ts', import.meta.url)

/** Milliseconds within which all must be the same, also on a busy machine. Lost connections are tried again after up to a minute. */
const settleMs = 240_000

const names = ['a', 'b', 'c', 'd.txt'] as const

/** Few paths make many conflicts. */
function pathOf(random: Random): string {
  const folder = random.pick(['', '', '/f', '/g', '/f/h'])
  return `${folder}/${random.pick(names)}`
}

/** A content that is like no other. Large ones are sent in blocks. */
function contentOf(random: Random, number: number): string {
  const size = random.chance(0.06) ? random.integer(4_500_000, 6_000_000) : random.integer(0, 20_000)
  return `content ${number}: ${'x'.repeat(size)}`
}

/** Two or three devices, and a node behind an address that stays. */
class Play {
  readonly #round: Round
  readonly #place: string
  readonly #address = new SteadyAddress()
  readonly #devices: SyncedDevice[] = []
  /** The contents that a person wrote and did not take back. */
  readonly #wanted = new Set<string>()
  readonly #begin = performance.now()
  #node: FilesProcess | null = null
  #session: FilesProcess['session'] | undefined
  #count = 0

  constructor(round: Round, place: string) {
    this.#round = round
    this.#place = place
  }

  async run(): Promise<void> {
    const { random } = this.#round
    const url = await this.#address.open()
    try {
      await this.#startNode()
      for (let number = random.integer(2, 3); number > 0; number -= 1) {
        const token = this.#session?.token ?? ''
        this.#devices.push(await SyncedDevice.create(`d${number}`, this.#place, url, token))
      }
      for (let count = random.integer(0, 8); count > 0; count -= 1) await this.#change()
      for (const device of this.#devices) device.start()
      const kills = random.integer(2, 5)
      for (let kill = 0; kill < kills; kill += 1) {
        for (let count = random.integer(2, 15); count > 0; count -= 1) {
          await this.#change()
          await delay(random.chance(0.7) ? random.integer(0, 60) : random.integer(0, 1500))
        }
        const dice = random.integer(0, 5)
        if (dice === 0) await this.#keepData()
        else if (dice === 1) await this.#putBack()
        else await this.#kill()
      }
      await this.#settle()
    } finally {
      for (const device of this.#devices) this.#round.log(`${device.name} printed:\n${device.output}`)
      await Promise.allSettled([...this.#devices.map((device) => device.kill()), this.#node?.kill()])
      await this.#address.close()
    }
  }

  /** A person changes something on a device. All choices are made before anything is tried, so that a seed repeats them. */
  async #change(): Promise<void> {
    const { random } = this.#round
    const device = random.pick(this.#devices as [SyncedDevice])
    const [path, other] = [pathOf(random), pathOf(random)]
    const content = contentOf(random, this.#count++)
    const dice = random.integer(0, 9)
    const folder = random.pick(['/f', '/g', '/f/h'])
    const target = random.pick(['/g', '/k', '/f/m'])
    const unwant = (contents: readonly string[]) => {
      for (const each of contents) this.#wanted.delete(each)
    }
    const log = (what: string) => this.#log(`${device.name} ${what}`)
    if (dice < 3) {
      log(`saves ${path}: ${content.slice(0, 20)}`)
      unwant(await device.remove(path))
      if (await device.create(path, content)) this.#wanted.add(content)
    } else if (dice < 5) {
      log(`edits ${path}: ${content.slice(0, 20)}`)
      this.#wanted.add(content)
      const former = await device.edit(path, content)
      unwant([former ?? content])
    } else if (dice === 5) {
      log(`removes ${path}`)
      unwant(await device.remove(path))
    } else if (dice === 6) {
      log(`removes ${folder}`)
      unwant(await device.remove(folder))
    } else if (dice === 7) {
      log(`moves ${path} to ${other}`)
      await device.move(path, other)
    } else if (dice === 8) {
      log(`moves ${folder} to ${target}`)
      await device.move(folder, target)
    } else {
      log(`makes the folder ${target}`)
      await device.makeFolder(target)
    }
  }

  async #kill(): Promise<void> {
    const { random } = this.#round
    const device = random.pick([...this.#devices, null] as [SyncedDevice | null])
    const pause = random.integer(0, 500)
    this.#log(`${device?.name ?? 'the node'} is killed`)
    if (device === null) {
      await this.#stopNode()
      await delay(pause)
      await this.#startNode()
    } else {
      await device.kill()
      await delay(pause)
      device.start()
    }
  }

  /**
   * Keeps the data folder of the node at one moment. User files have the same inodes there, as in the snapshot of a disk, or others, as
   * in a copy of the files.
   */
  async #keepData(): Promise<void> {
    const keepsInodes = this.#round.random.chance(0.5)
    this.#log(`the data of the node are kept, ${keepsInodes ? 'with their inodes' : 'as a copy'}`)
    await this.#stopNode()
    await rm(this.#kept, { recursive: true, force: true })
    await copyData(this.#data, this.#kept, keepsInodes)
    await this.#startNode()
  }

  /** Puts the node back to the data that were kept, by other means than a restore. */
  async #putBack(): Promise<void> {
    const { random } = this.#round
    const pause = random.integer(0, 500)
    const others = random.integer(0, 5)
    const content = () => contentOf(random, this.#count++)
    const files = Array.from({ length: others }, () => [pathOf(random), content()] as const)
    if (!(await readdir(this.#kept).catch(() => null))) return
    this.#log('the node is put back')
    await this.#stopNode()
    // A content that no device has yet is lost with the data of the node.
    const held = new Set(
      (await Promise.all(this.#devices.map(async (each) => contentsOf(await each.tree())))).flat(),
    )
    for (const each of this.#wanted) if (!held.has(each)) this.#wanted.delete(each)
    await rm(this.#data, { recursive: true })
    await rename(this.#kept, this.#data)
    await delay(pause)
    await this.#startNode()
    // The journal gives numbers once more that devices have acknowledged.
    for (const [path, text] of files) if (await this.#putOnNode(path, text)) this.#wanted.add(text)
  }

  /** Stores a file by the API where nothing is. Returns whether it was possible. */
  async #putOnNode(path: string, text: string): Promise<boolean> {
    const answer = await fetch(new URL(`/write?path=${encodeURIComponent(path)}`, this.#node?.url), {
      method: 'PUT',
      body: text,
      headers: { authorization: `Bearer ${this.#session?.token}`, 'if-none-match': '*' },
    })
    await answer.body?.cancel()
    return answer.ok
  }

  /** Waits until all are the same, and checks that nothing is lost. */
  async #settle(): Promise<void> {
    this.#log('nothing more is changed')
    const end = performance.now() + settleMs
    for (;;) {
      const difference = await this.#difference()
      if (difference === '') break
      assert.ok(performance.now() < end, difference)
      await delay(200)
    }
    const kept = new Set(contentsOf(await this.#nodeTree()))
    const trash = new Set((await Promise.all(this.#devices.map((device) => device.trash()))).flat())
    const lost = [...this.#wanted].filter((content) => !kept.has(content))
    const inTrash = lost.filter((content) => trash.has(content)).map((content) => content.slice(0, 20))
    assert.deepEqual(
      lost.map((content) => content.slice(0, 20)),
      [],
      `lost; in the trash are ${inTrash}`,
    )
  }

  async #difference(): Promise<string> {
    for (const device of this.#devices) {
      const { isIdle, ...status } = await device.status()
      if (!isIdle) return `${device.name} is not idle: ${JSON.stringify(status)}`
    }
    const there = await this.#nodeTree()
    for (const device of this.#devices) {
      const here = await device.tree()
      for (const path of new Set([...there.keys(), ...here.keys()])) {
        const [one, other] = [there.get(path), here.get(path)]
        if (one !== other)
          return `${path} is ${one?.slice(0, 20)} on the node and ${other?.slice(0, 20)} on ${device.name}`
      }
    }
    return ''
  }

  #nodeTree() {
    return treeOf(join(this.#data, 'files', this.#session?.uuid ?? ''))
  }

  get #data(): string {
    return join(this.#place, 'data')
  }

  get #kept(): string {
    return join(this.#place, 'kept')
  }

  async #stopNode(): Promise<void> {
    this.#address.port = null
    await this.#node?.kill()
  }

  async #startNode(): Promise<void> {
    this.#node = await startFiles(this.#data, this.#session, { program })
    this.#session = this.#node.session
    this.#address.port = Number(this.#node.url.port)
  }

  #log(line: string): void {
    this.#round.log(`${((performance.now() - this.#begin) / 1000).toFixed(2)} ${line}`)
  }
}

export default {
  name: 'Devices whose clients and node are killed in the middle of their work, and whose node is put back to older data, end with the same files, and no content is lost that a person did not take back.',
  defaultRounds: 60,
  roundSeconds: 400,
  async round(round) {
    const place = await mkdtemp(join(tmpdir(), 'nodekeep-sync-kills-'))
    try {
      await new Play(round, place).run()
    } finally {
      await rm(place, { recursive: true, force: true })
    }
  },
} satisfies Fault
