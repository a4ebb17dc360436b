import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { proofOf, wallet } from '../sign-in/fixtures/trusting-login.ts'
import type { Bench } from './bench.ts'
import { transfer } from './fixtures/files-transfers.ts'
import { median } from './measure.ts'
import { startServer } from './process.ts'

const gigabyte = 2 ** 30

/** Pictures of a round. */
const pictures = 20

const fixture = (name: string) => join(import.meta.dirname, 'fixtures', name)

/** A node with links, and a user of it. */
async function startSharing() {
  const folder = await mkdtemp(join(tmpdir(), 'nodekeep-bench-shares-'))
  const node = await startServer(fixture('shares-node.ts'), [join(folder, 'data')])
  const signedIn = await fetch(new URL('/auth/test', node.url), proofOf(wallet(0)))
  if (!signedIn.ok) throw new Error(await signedIn.text())
  const { sessionToken } = (await signedIn.json()) as { sessionToken: string }
  const authorization = `Bearer ${sessionToken}`
  const call = async (path: string, body: object): Promise<unknown> => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(new URL(path, node.url), {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(await answer.text())
    return answer.json()
  }
  return {
    folder,
    authorization,
    url: node.url.origin,
    async link(path: string, wishes: object = {}): Promise<string> {
      const made = await call('/api/shares', { path, kind: 'read', ...wishes })
      return `${node.url.origin}${new URL((made as { url: string }).url).pathname}`
    },
    async tearDown() {
      await node.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const largeRead: Bench = {
  name: 'shares: a file of 1 GiB by a link, against GET /read',
  unit: 'MB/s',
  better: 'more',
  goal: { ratio: 0.8 },
  async setUp() {
    const { url, authorization, link, tearDown } = await startSharing()
    const written = `${url}/write?path=/shared/large`
    await transfer({ method: 'PUT', url: written, authorization, bytes: gigabyte })
    const shared = await link('/shared')
    const rate = async (target: string) =>
      gigabyte / 1e6 / (await transfer({ method: 'GET', url: target, authorization, bytes: gigabyte }))
    return {
      ours: () => rate(`${shared}/file?path=/large`),
      baseline: () => rate(`${url}/read?path=/shared/large`),
      tearDown,
    }
  },
}

const cleanedPicture: Bench = {
  name: 'shares: time that the cleaning adds to a picture of 4 MB, at its first download',
  unit: 'ms',
  better: 'less',
  goal: { ours: 10 },
  async setUp() {
    const { folder, url, authorization, link, tearDown } = await startSharing()
    const file = join(folder, 'photo.jpg')
    await promisify(execFile)(process.execPath, [fixture('previews-photo.ts'), file])
    const photo = await readFile(file)
    const plain = await link(await put('/plain.jpg'), { keepMetadata: true })
    const cleaned = await link(await put('/cleaned.jpg'))

    async function put(path: string): Promise<string> {
      const target = `${url}/write?path=${path}`
      const answer = await fetch(target, { method: 'PUT', headers: { authorization }, body: photo })
      if (!answer.ok) throw new Error(await answer.text())
      return path
    }
    const time = async (shared: string, path: string): Promise<number> => {
      // Each is a new version, so that no plan of the cleaning is known.
      await put(path)
      const began = performance.now()
      const answer = await fetch(`${shared}/file`)
      await answer.arrayBuffer()
      return performance.now() - began
    }
    return {
      async ours() {
        const added: number[] = []
        for (let at = 0; at < pictures; at += 1)
          added.push((await time(cleaned, '/cleaned.jpg')) - (await time(plain, '/plain.jpg')))
        return median(added)
      },
      tearDown,
    }
  },
}

export default [largeRead, cleanedPicture] satisfies Bench[]
