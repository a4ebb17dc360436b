import { mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { concurrently } from '@nodekeep/plugin-sdk'
import type { Bench } from './bench.ts'
import { count } from './fixtures/files-small-content.ts'
import { type FilesServers, nginxProgram, startFilesServers } from './fixtures/files-stand.ts'
import { output, transfer } from './fixtures/files-transfers.ts'
import { rcloneProgram } from './fixtures/rclone.ts'
import { serveRcloneWebdav } from './fixtures/rclone-webdav.ts'

const gigabyte = 2 ** 30
const entries = 10_000

/** A server on whose files a bench works. */
interface Side {
  /** The folder on the disk that has the files. */
  readonly folder: string
  /** The address of the server. */
  readonly origin: string
  /** Returns the target of a file, or of a folder for `readdir`. */
  at(path: string, endpoint: 'read' | 'write' | 'readdir'): string
  readonly authorization: string
  /** Whether the server has written a file to the disk when it answers. */
  readonly isDurable: boolean
  /** The method by which it lists a folder. */
  readonly lists: 'PROPFIND' | 'GET'
}

/** A baseline, by the words that name it. */
type Baseline = 'the own routes of the node' | 'rclone serve webdav' | 'nginx'

interface Stand {
  readonly ours: Side
  readonly baseline: Side
  tearDown(): Promise<void>
}

async function startStand(baseline: Baseline): Promise<Stand> {
  const servers = await startFilesServers('webdav')
  const { node, nodeFolder: folder, authorization, tearDown } = servers
  const { origin } = node.url
  const ofNode = { folder, origin, authorization, isDurable: true } as const
  const ours: Side = { ...ofNode, at: (path) => `/dav${path}`, lists: 'PROPFIND' }
  if (baseline === 'the own routes of the node') {
    const at: Side['at'] = (path, endpoint) => `/${endpoint}?path=${path}`
    return { ours, baseline: { ...ofNode, at, lists: 'GET' }, tearDown }
  }
  const other = await startOther(baseline, servers)
  return {
    ours,
    baseline: {
      folder: other.folder,
      origin: other.url.origin,
      at: (path) => path,
      authorization: '',
      isDurable: false,
      lists: 'PROPFIND',
    },
    async tearDown() {
      await other.stop?.()
      await tearDown()
    },
  }
}

async function startOther(
  baseline: Exclude<Baseline, 'the own routes of the node'>,
  { nginx, nginxFolder, bareFolder }: FilesServers,
): Promise<{ readonly url: URL; readonly folder: string; stop?(): Promise<void> }> {
  // The stand itself stops nginx.
  if (baseline === 'nginx') return { url: (await nginx()).url, folder: nginxFolder }
  return { ...(await serveRcloneWebdav(bareFolder)), folder: bareFolder }
}

/** The reasons to leave out a baseline on this machine. */
const missing = {
  'the own routes of the node': false,
  'rclone serve webdav': rcloneProgram === null && 'rclone',
  nginx: nginxProgram === null && 'nginx',
} as const satisfies Record<Baseline, string | false>

function largeRead(against: Baseline, goal?: number): Bench {
  return {
    name: `webdav: GET of 1 GiB, against ${against}`,
    unit: 'MB/s',
    better: 'more',
    ...(goal !== undefined && { goal: { ratio: goal } }),
    missing: missing[against],
    rounds: 3,
    async setUp() {
      const { ours, baseline, tearDown } = await startStand(against)
      for (const folder of new Set([ours.folder, baseline.folder])) await fill(join(folder, 'large'))
      const rate = async ({ origin, at, authorization }: Side) => {
        const url = `${origin}${at('/large', 'read')}`
        return gigabyte / 1e6 / (await transfer({ method: 'GET', url, authorization, bytes: gigabyte }))
      }
      return { ours: () => rate(ours), baseline: () => rate(baseline), tearDown }
    },
  }
}

/** Stores 1 GiB per round until it is on the disk, and removes the file after each. */
function largeWrite(against: Baseline, goal?: number): Bench {
  return {
    name: `webdav: PUT of 1 GiB, against ${against}`,
    unit: 'MB/s',
    better: 'more',
    ...(goal !== undefined && { goal: { ratio: goal } }),
    missing: missing[against],
    rounds: 3,
    async setUp() {
      const { ours, baseline, tearDown } = await startStand(against)
      const rate = async ({ folder, origin, at, authorization, isDurable }: Side) => {
        const url = `${origin}${at('/large', 'write')}`
        const sent = await transfer({ method: 'PUT', url, authorization, bytes: gigabyte })
        const file = join(folder, 'large')
        const seconds = sent + (isDurable ? 0 : await secondsToSync(file))
        await rm(file)
        return gigabyte / 1e6 / seconds
      }
      return { ours: () => rate(ours), baseline: () => rate(baseline), tearDown }
    },
  }
}

function listing(against: Baseline, goal?: number): Bench {
  return {
    name: `webdav: PROPFIND of 10,000 entries, against ${against}`,
    unit: 'ms',
    better: 'less',
    ...(goal !== undefined && { goal: { ratio: goal } }),
    missing: missing[against],
    async setUp() {
      const { ours, baseline, tearDown } = await startStand(against)
      for (const folder of new Set([ours.folder, baseline.folder])) {
        await mkdir(join(folder, 'many'))
        const names = Array.from({ length: entries }, (_, n) => `${n}.txt`)
        await concurrently(names, 64, (name) => writeFile(join(folder, 'many', name), ''))
      }
      return { ours: () => listed(ours), baseline: () => listed(baseline), tearDown }
    },
  }
}

/** Stores files of 1 KiB, 32 at once, each round in a folder of its own. */
function smallWrites(against: Baseline, goal?: number): Bench {
  return {
    name: `webdav: 10,000 writes of 1 KiB, 32 at once, against ${against}`,
    unit: 'files/s',
    better: 'more',
    ...(goal !== undefined && { goal: { ratio: goal } }),
    missing: missing[against],
    rounds: 3,
    async setUp() {
      const { ours, baseline, tearDown } = await startStand(against)
      let round = 0
      const rate = async (side: Side) => {
        const { folder, origin, at, authorization } = side
        round += 1
        await makeFolder(side, `/${round}`)
        const written = Number(
          await output('files-small-writes.ts', origin, at(`/${round}`, 'write'), authorization),
        )
        const stored = (await readdir(join(folder, `${round}`))).length
        if (stored !== count) throw new Error(`There are ${stored} files in place of ${count}.`)
        return written
      }
      return { ours: () => rate(ours), baseline: () => rate(baseline), tearDown }
    },
  }
}

/** Servers of WebDAV may not notice at once what others do in their folder. */
async function makeFolder({ folder, origin, at, authorization, lists }: Side, path: string): Promise<void> {
  if (lists === 'GET') return void (await mkdir(join(folder, path)))
  const headers = authorization === '' ? {} : { authorization }
  const answer = await fetch(`${origin}${at(path, 'write')}`, { method: 'MKCOL', headers })
  if (!answer.ok) throw new Error(`MKCOL of ${path} was answered with ${answer.status}.`)
}

/** The properties that file managers ask for. */
const properties =
  '<propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getlastmodified/><getetag/></prop></propfind>'

async function listed({ origin, at, authorization, lists }: Side): Promise<number> {
  const began = performance.now()
  const answer = await fetch(`${origin}${at('/many', 'readdir')}${lists === 'PROPFIND' ? '/' : ''}`, {
    method: lists,
    headers: {
      ...(authorization !== '' && { authorization }),
      ...(lists === 'PROPFIND' && { depth: '1', 'content-type': 'application/xml' }),
    },
    ...(lists === 'PROPFIND' && { body: properties }),
  })
  const text = await answer.text()
  const took = performance.now() - began
  const count =
    lists === 'GET' ? JSON.parse(text).length : (text.match(/<(\w+:)?response[ >]/g) ?? []).length - 1
  if (count !== entries) throw new Error(`The listing has ${count} entries in place of ${entries}.`)
  return took
}

async function secondsToSync(path: string): Promise<number> {
  const began = performance.now()
  const file = await open(path)
  await file.sync()
  await file.close()
  return (performance.now() - began) / 1000
}

async function fill(path: string): Promise<void> {
  const file = await open(path, 'wx')
  const piece = Buffer.alloc(1024 * 1024, 'The bytes of a large file. ')
  for (let written = 0; written < gigabyte; written += piece.length) await file.write(piece)
  await file.sync()
  await file.close()
}

export default [
  largeRead('the own routes of the node', 0.8),
  largeWrite('the own routes of the node', 0.8),
  listing('the own routes of the node', 4),
  smallWrites('the own routes of the node', 0.6),
  largeRead('rclone serve webdav'),
  largeWrite('rclone serve webdav'),
  listing('rclone serve webdav'),
  smallWrites('rclone serve webdav'),
  largeRead('nginx'),
  largeWrite('nginx'),
] satisfies Bench[]
