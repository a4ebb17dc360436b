import assert from 'node:assert/strict'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Fault, Round } from './fault.ts'
import { journalTree, listedTree, sorted } from './files-check.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import type { Random } from './random.ts'

const mount = '/cold'

/** Prefix of the files that another program adds. The journal does not have them. */
const foreign = 'foreign-'

/** The bytes of files by their path in the tree that moves. */
type Contents = Map<string, Buffer>

/** Stores the tree to move. */
async function storeTree(node: FilesProcess, random: Random): Promise<Contents> {
  const contents: Contents = new Map()
  const count = random.integer(1, 40)
  for (let n = 0; n < count; n += 1) {
    const path = `/${random.pick(['a', 'b', 'c/d'])}/${n}`
    contents.set(path, random.bytes(random.chance(0.1) ? 200_000 : random.integer(0, 500)))
  }
  const stored = [...contents].map(async ([path, bytes]) => {
    const headers = { authorization: `Bearer ${node.session.token}` }
    const url = new URL(`/write?path=/tree${path}`, node.url)
    const { status } = await fetch(url, { method: 'PUT', headers, body: new Uint8Array(bytes) })
    assert.equal(status, 200)
  })
  await Promise.all(stored)
  return contents
}

/** Moves the tree to the mount, within it, and back, until the node is killed, or until something stays at the source. */
async function moveAround(node: FilesProcess): Promise<number> {
  const places = ['/tree', `${mount}/tree`, `${mount}/again/tree`]
  for (let count = 0; ; count += 1) {
    const [source, destination] = [places[count % 3], places[(count + 1) % 3]]
    const answer = await fetch(new URL('/move', node.url), {
      method: 'POST',
      headers: { authorization: `Bearer ${node.session.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ source, destination }),
    }).catch(() => null)
    if (answer === null || answer.status === 409) return count
    assert.equal(answer.status, 200, await answer.text().catch(() => 'no text'))
  }
}

/** Adds files to the moving tree, as another program would. */
async function disturb(
  roots: readonly [string, ...string[]],
  random: Random,
  until: AbortSignal,
): Promise<Contents> {
  const contents: Contents = new Map()
  while (!until.aborted) {
    await delay(random.integer(1, 40))
    const path = `/${random.pick(['a', 'b'])}/${foreign}${contents.size}`
    const bytes = random.bytes(20)
    const root = random.pick(roots)
    const aside = join(root, `${foreign}aside`)
    try {
      await writeFile(aside, bytes)
      await rename(aside, join(root, 'tree', path))
      contents.set(path, bytes)
    } catch {
      // The folder does not exist at the moment.
    } finally {
      await rm(aside, { force: true })
    }
  }
  return contents
}

/** Checks that each file exists at one of the places or at several, and is complete. */
async function checkContents(roots: readonly string[], contents: Contents): Promise<void> {
  for (const [path, bytes] of contents) {
    const copies = await Promise.all(
      roots.map((root) => readFile(join(root, 'tree', path)).catch(() => null)),
    )
    assert.ok(
      copies.some((copy) => copy !== null),
      `${path} is lost`,
    )
    for (const copy of copies) assert.ok(copy === null || copy.equals(bytes), `${path} has other bytes`)
  }
}

async function checkAgreement(node: FilesProcess): Promise<void> {
  const ours = (tree: Map<string, number | null>) =>
    sorted(tree).filter(([path]) => path !== mount && !path.includes(foreign))
  assert.deepEqual(
    ours(await journalTree(node)),
    ours(await listedTree(node)),
    'the journal has another tree',
  )
}

async function play(dataFolder: string, { random, log }: Round): Promise<void> {
  const backend = random.chance(0.5) ? 'objects' : 'mounted'
  const node = await startFiles(dataFolder, undefined, { mount, backend })
  const [root, mounted] = ['files', 'mounted'].map((folder) =>
    join(dataFolder, folder, node.session.uuid),
  ) as [string, string]
  const roots = [root, mounted, join(mounted, 'again')] as const
  let contents: Contents
  const ended = new AbortController()
  try {
    contents = await storeTree(node, random)
    const moving = moveAround(node)
    moving.catch(() => {})
    const disturbing = random.chance(0.5) ? disturb(roots, random, ended.signal) : null
    await delay(random.integer(5, 1000))
    ended.abort()
    await node.kill()
    log(`${await moving} moves were answered`)
    for (const [path, bytes] of (await disturbing) ?? []) contents.set(path, bytes)
  } finally {
    ended.abort()
    await node.kill()
  }
  const again = await startFiles(dataFolder, node.session, { mount, backend })
  try {
    await checkContents(roots, contents)
    await checkAgreement(again)
    const shown = [...(await listedTree(again)).keys()]
    assert.deepEqual(
      shown.filter((path) => path.includes('.moving-')),
      [],
      'half a copy is left',
    )
  } finally {
    await again.kill()
  }
}

export default {
  name: 'A move across mounts, or of a folder file by file, loses nothing, even when the node is killed or another program adds files meanwhile.',
  defaultRounds: 50,
  async round(round) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-crossing-'))
    try {
      await play(dataFolder, round)
    } finally {
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
