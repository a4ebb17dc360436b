import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream, createWriteStream, watch } from 'node:fs'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Bench } from './bench.ts'
import { rcloneProgram, serveRclone } from './fixtures/rclone.ts'
import { writeSmallFiles } from './fixtures/small-files.ts'
import { startLine } from './fixtures/sync-line.ts'
import { type SyncStand, startSyncNode } from './fixtures/sync-stand.ts'
import { cpuSeconds, residentMB } from './process.ts'

const changes = 100

/** Makes changes in a folder one after the other, and returns the milliseconds until each is in the other folder, sorted. */
async function timesOfChanges(from: string, to: string): Promise<number[]> {
  const times: number[] = []
  let look = () => {}
  const watcher = watch(to, () => look())
  try {
    for (let change = 0; change < changes; change += 1) {
      // Some changes make a file, most replace one.
      const name = `file ${change % 20}`
      const content = `change ${change} at ${performance.now()}`
      const arrived = Promise.withResolvers<void>()
      look = () => {
        readFile(join(to, name), 'utf8').then(
          (text) => text === content && arrived.resolve(),
          () => {},
        )
      }
      const began = performance.now()
      await writeFile(join(from, name), content)
      await arrived.promise
      times.push(performance.now() - began)
      await delay(Math.random() * 200)
    }
  } finally {
    watcher.close()
  }
  return times.sort((a, b) => a - b)
}

const latency: Bench = {
  name: 'sync: time until a change on one device is on another, p50',
  unit: 'ms',
  better: 'less',
  goal: { ours: 300 },
  also: [
    {
      name: 'sync: time until a change on one device is on another, p99',
      unit: 'ms',
      better: 'less',
      goal: { ours: 1000 },
    },
  ],
  rounds: 2,
  async setUp() {
    const stand = await startSyncNode()
    const token = await stand.signIn(1)
    const [one, two] = [await stand.folder('one'), await stand.folder('two')]
    for (const folder of [one, two]) await stand.startClient({ token, folder }).idle()
    return {
      async ours() {
        const times = await timesOfChanges(one, two)
        return [50, 99].map((percent) => times[Math.ceil((times.length * percent) / 100) - 1] as number)
      },
      tearDown: stand.tearDown,
    }
  },
}

const files = 10_000

/** Runs a program, and returns the seconds until it has ended and what it wrote is on the disk. */
async function timed(work: () => Promise<void>): Promise<number> {
  await promisify(execFile)('sync')
  const began = performance.now()
  await work()
  await promisify(execFile)('sync')
  return (performance.now() - began) / 1000
}

function firstSync(direction: 'up' | 'down'): Bench {
  return {
    name: `sync: first sync of ${files.toLocaleString('en')} files of 4 KiB, ${direction}, against rclone copy and sync`,
    unit: 'files/s',
    better: 'more',
    goal: { ratio: 0.5 },
    rounds: 2,
    async setUp() {
      const stand = await startSyncNode()
      const source = await stand.folder('source')
      await writeSmallFiles(source, files)
      let round = 0
      const once = async (token: string, folder: string) => {
        await stand.startClient({ token, folder, args: ['--once'] }).ended
      }
      const onNode = await stand.signIn(1)
      if (direction === 'down') await once(onNode, await copyOf(stand, source, 'on-node'))
      return {
        async ours() {
          round += 1
          if (direction === 'down') {
            const empty = await stand.folder(`ours-${round}`)
            return files / (await timed(() => once(onNode, empty)))
          }
          const token = await stand.signIn(1 + round)
          const full = await copyOf(stand, source, `ours-${round}`)
          return files / (await timed(() => once(token, full)))
        },
        ...(rcloneProgram !== null && {
          async baseline() {
            round += 1
            const empty = await stand.folder(`rclone-${round}`)
            const server = await serveRclone(direction === 'up' ? empty : source)
            try {
              const folder = direction === 'up' ? source : empty
              return files / (await timed(() => server.copy(direction, folder)))
            } finally {
              await server.stop()
            }
          },
        }),
        tearDown: stand.tearDown,
      }
    },
  }
}

async function copyOf(stand: SyncStand, source: string, name: string): Promise<string> {
  const folder = await stand.folder(name)
  await promisify(execFile)('cp', ['-a', `${source}/.`, folder])
  return folder
}

const gigabyte = 2 ** 30

const insertion: Bench = {
  name: 'sync: bytes on the wire, from one device and to another, when 1 byte is inserted into 1 GiB',
  unit: 'bytes',
  better: 'less',
  goal: { ours: 2 * 2 ** 20 },
  rounds: 1,
  async setUp() {
    const stand = await startSyncNode()
    const line = await startLine(stand.node.url)
    const token = await stand.signIn(1)
    const [one, two] = [await stand.folder('one'), await stand.folder('two')]
    const [file, copy] = [join(one, 'large'), join(two, 'large')]
    let size = gigabyte
    await pipeline(createReadStream('/dev/urandom', { end: size - 1 }), createWriteStream(file))
    const clients = [one, two].map((folder) => stand.startClient({ token, folder, url: line.url }))
    const arrived = async () => {
      while ((await stat(copy).catch(() => null))?.size !== size) await delay(100)
      for (const client of clients) await client.idle()
    }
    await arrived()
    return {
      async ours() {
        size += 1
        const aside = join(await stand.folder('aside'), 'large')
        const output = createWriteStream(aside)
        const middle = Math.floor(size * Math.random())
        await pipeline(createReadStream(file, { end: middle - 1 }), output, { end: false })
        output.write('x')
        await pipeline(createReadStream(file, { start: middle }), output)
        const before = line.bytes
        await rename(aside, file)
        await arrived()
        return line.bytes - before
      },
      async tearDown() {
        await stand.tearDown()
        await line.stop()
      },
    }
  },
}

const crowd = 1000
const users = 20
/** The first ones load the code of the node, which does not count. */
const firstClients = 50
/** Seconds after which V8 has given back the memory that the arrivals needed. */
const idleSeconds = 20

/** Starts clients in a process of their own, and resolves with its end when all are connected. */
async function connectCrowd(stand: SyncStand, count: number, tokens: readonly string[]) {
  const program = join(import.meta.dirname, 'fixtures/sync-crowd.ts')
  const child = spawn(process.execPath, [program, stand.node.url.origin, `${count}`, ...tokens], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const failed = ended.then(() => {
    throw new Error('The process of the clients has ended.')
  })
  await Promise.race([once(createInterface(child.stdout), 'line'), failed])
  failed.catch(() => {})
  return async () => {
    child.kill()
    await ended
  }
}

/** Seconds in which the node looks at all connections twice, and seconds for a node without connections. */
const besideSeconds = 60
const withoutSeconds = 20

/** The memory of a node, in MB, and its share of a core over some seconds, in percent. */
async function load(pid: number, seconds: number): Promise<[number, number]> {
  const memory = await residentMB(pid)
  const before = await cpuSeconds(pid)
  await delay(seconds * 1000)
  return [memory, (((await cpuSeconds(pid)) - before) / seconds) * 100]
}

/** Measures a node without and with idle clients. Each has a session of its own. */
const idle: Bench = {
  name: 'sync: memory of 1,000 idle clients on the node',
  unit: 'MB',
  better: 'less',
  goal: { ours: 100 },
  also: [
    {
      name: 'sync: CPU of 1,000 idle clients on the node',
      unit: '% of a core',
      better: 'less',
      goal: { ours: 1 },
    },
  ],
  rounds: 1,
  fresh: true,
  async setUp() {
    return {
      async ours() {
        const stand = await startSyncNode()
        const tokens = await Promise.all(Array.from({ length: crowd }, (_, n) => stand.signIn(n % users)))
        // Memory that the sign-ins needed does not count.
        await stand.restart()
        const leave: (() => Promise<void>)[] = []
        try {
          await (await connectCrowd(stand, firstClients, tokens.slice(0, firstClients)))()
          await delay(idleSeconds * 1000)
          const without = await load(stand.node.pid, withoutSeconds)
          leave.push(await connectCrowd(stand, crowd, tokens))
          await delay(idleSeconds * 1000)
          const beside = await load(stand.node.pid, besideSeconds)
          return [beside[0] - without[0], beside[1] - without[1]]
        } finally {
          for (const end of leave) await end()
          await stand.tearDown()
        }
      },
    }
  },
}

export default [latency, firstSync('up'), firstSync('down'), insertion, idle] satisfies Bench[]
