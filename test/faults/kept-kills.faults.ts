import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { Fault } from './fault.ts'
import { checkAgreement, checkLeftovers, readDisk } from './files-check.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { ask } from './kept-changes.ts'
import { bytesOfContent, KeptClient } from './kept-client.ts'
import { contentOf, contentsByApi } from './kept-contents.ts'
import { randomOf } from './random.ts'

const clientCount = 4

/** Kills in a round, each with a start of the node after it. */
const kills = 2

/** Returns the contents on the disk, of files and of kept files. Each is whole and there once. */
async function contentsOnDisk(dataFolder: string, uuid: string): Promise<string[]> {
  const contents: string[] = []
  for (const folder of [uuid, join('kept', uuid)]) {
    const root = join(dataFolder, 'files', folder)
    for (const entry of await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])) {
      if (!entry.isFile()) continue
      const file = join(entry.parentPath, entry.name)
      const bytes = await readFile(file)
      const content = contentOf(bytes)
      assert.ok(bytes.equals(bytesOfContent(content)), `${file} is not whole`)
      assert.equal((await stat(file)).nlink, 1, `${file} has a second link`)
      contents.push(content)
    }
  }
  return contents
}

function checkContents(found: readonly string[], clients: readonly KeptClient[], where: string): void {
  const known = new Set(found)
  assert.equal(known.size, found.length, `${where}: no content is there twice`)
  const unsure = clients.flatMap(({ asked }) => (asked === null ? [] : [asked]))
  const written = new Set(clients.flatMap(({ written: own }) => [...own]))
  assert.deepEqual([...written.difference(known)], [], `${where}: no answered content is lost`)
  assert.deepEqual(
    [...known.difference(written).difference(new Set(unsure))],
    [],
    `${where}: nothing else is there`,
  )
}

/** Checks that exactly the contents on the disk count toward the quota, once the node knows all of them. */
async function checkQuota(node: FilesProcess, found: readonly string[], signal: AbortSignal): Promise<void> {
  const bytes = found.reduce((sum, content) => sum + bytesOfContent(content).length, 0)
  for (;;) {
    const answer = await ask(node, '/api/files/usage')
    const { quota, isComplete } = (await answer.json()) as NodeAnswers['GET /api/files/usage']
    if (isComplete) return assert.equal(quota?.taken, bytes, 'the bytes that count toward the quota')
    await delay(5, undefined, { signal })
  }
}

export default {
  name: 'After kills of a node, each content that was overwritten, deleted, restored or taken back is there once, and counts once: as a file, a version, or in the trash, and the API gives all of them back.',
  defaultRounds: 60,
  async round({ seed, random, signal, log }) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-killed-'))
    const environment = { FILES_QUOTA: `${random.integer(1_000_000, 20_000_000)}` }
    let node = await startFiles(dataFolder, undefined, { environment })
    try {
      const { uuid } = node.session
      const all: KeptClient[] = []
      for (let kill = 0; kill < kills; kill += 1) {
        const clients = Array.from({ length: clientCount }, (_, index) => {
          const number = all.length + index
          return new KeptClient(`/c${number}`, randomOf(seed * clientCount * kills + number))
        })
        all.push(...clients)
        const running = Promise.all(clients.map((client) => client.run(node)))
        running.catch(() => {})
        await delay(random.integer(50, 1500))
        await node.kill()
        await running
        node = await startFiles(dataFolder, node.session, { environment })
        const found = await contentsOnDisk(dataFolder, uuid)
        checkContents(found, all, 'on the disk')
        await checkQuota(node, found, signal)
      }
      log(`${all.reduce((sum, { answered }) => sum + answered, 0)} changes were answered`)
      checkContents(await contentsByApi(node), all, 'by the API')
      const disk = await readDisk(dataFolder, node)
      // New parents of a change that was not made.
      const empty = [...disk.keys()].filter(
        (path) => disk.get(path) === null && ![...disk.keys()].some((other) => other.startsWith(`${path}/`)),
      )
      await checkAgreement(node, disk, empty)
      await node.stop()
      await checkLeftovers(dataFolder)
    } finally {
      await node.kill()
      await rm(dataFolder, { recursive: true, force: true })
    }
  },
} satisfies Fault
