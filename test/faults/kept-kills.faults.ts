import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import type { Fault } from './fault.ts'
import { checkAgreement, checkLeftovers, readDisk } from './files-check.ts'
import { type FilesProcess, startFiles } from './files-process.ts'
import { bytesOfContent, KeptClient } from './kept-client.ts'
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

/** The content of which a file has a copy or more. */
function contentOf(bytes: Buffer): string {
  return bytes.subarray(0, bytes.indexOf(';') + 1).toString()
}

async function ask(node: FilesProcess, target: string, init: RequestInit = {}): Promise<Response> {
  const headers = { ...init.headers, authorization: `Bearer ${node.session.token}` }
  const answer = await fetch(new URL(target, node.url), { ...init, headers })
  assert.equal(answer.status, 200, `${target}: ${answer.ok ? '' : await answer.text()}`)
  return answer
}

/** Restores the whole trash, then returns the contents of all files and of all their versions, as the API has them. */
async function contentsByApi(node: FilesProcess): Promise<string[]> {
  const trash = '/api/files/trash'
  for (let count = 0; ; ) {
    const { items } = (await (await ask(node, trash)).json()) as NodeAnswers[`GET ${typeof trash}`]
    if (items.length === 0) break
    for (const { id } of items) {
      count += 1
      const headers = { 'content-type': 'application/json' }
      const body = JSON.stringify({ id, destination: `/restored/${count}` })
      await ask(node, `${trash}/restore`, { method: 'POST', headers, body })
    }
  }
  const contents: string[] = []
  const read = async (target: string) =>
    contents.push(contentOf(Buffer.from(await (await ask(node, target)).arrayBuffer())))
  const walk = async (folder: string) => {
    const entries = (await (
      await ask(node, `/readdir?path=${folder || '/'}`)
    ).json()) as NodeAnswers['GET /readdir']
    for (const { name, type } of entries) {
      const path = encodeURIComponent(`${folder}/${name}`)
      if (type === 'directory') await walk(`${folder}/${name}`)
      else {
        await read(`/read?path=${path}`)
        let cursor: string | null = ''
        while (cursor !== null) {
          const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
          const answer = await ask(node, `/api/files/versions?path=${path}${after}`)
          const page = (await answer.json()) as NodeAnswers['GET /api/files/versions']
          for (const { id } of page.versions) await read(`/api/files/versions/read?path=${path}&id=${id}`)
          cursor = page.cursor
        }
      }
    }
  }
  await walk('')
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

export default {
  name: 'After kills of a node, each content that was overwritten, deleted, restored or taken back is there once: as a file, a version, or in the trash, and the API gives all of them back.',
  defaultRounds: 60,
  async round({ seed, random, log }) {
    const dataFolder = await mkdtemp(join(tmpdir(), 'nodekeep-killed-'))
    let node = await startFiles(dataFolder)
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
        node = await startFiles(dataFolder, node.session)
        checkContents(await contentsOnDisk(dataFolder, uuid), all, 'on the disk')
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
