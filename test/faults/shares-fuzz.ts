import assert from 'node:assert/strict'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import { unzipSync } from 'fflate'
import { root } from '../run/command.ts'
import type { Round } from './fault.ts'
import type { Random } from './random.ts'

/** Requests that are on their way at a time. */
const atOnce = 8

/** A word of everything that guests must not see: names, contents, former contents. */
const canary = 'canary'

const actions = ['', '/view', '/file', '/zip', '/preview'] as const

/** Parts of paths that may lead somewhere else. */
const parts = [
  '..',
  '.',
  '',
  'a.txt',
  'sub',
  'link-file',
  'link-folder',
  'moving',
  `${canary}.txt`,
  `${canary} outside.txt`,
  '%2e%2e',
  '\\',
  '\0',
  'e\u0301',
  '\u00e9',
  '\u202e',
  '．．',
  'a.txt:stream',
  '.nodekeep',
  '~',
  'x'.repeat(300),
] as const

/**
 * Sends random requests of guests to a shared folder, while it is moved, replaced and restored, and checks that no answer has a word of what is
 * outside: beside the folder, behind links on the disk, in the trash and in former versions.
 */
export async function sharesFuzz({ random, log }: Round, requests: number): Promise<void> {
  const node = await createTestNode({
    folder: root,
    config: { plugins: { files: true, 'storage-local': true, shares: true, previews: true, search: true } },
  })
  try {
    const ada = await node.signIn()
    await put(ada, '/shared/a.txt', `${canary} in a former version`)
    for (const [path, content] of [
      ['/shared/a.txt', 'open'],
      ['/shared/é', 'open'],
      ['/shared/sub/b.txt', 'open'],
      ['/shared/moving/c.txt', 'open'],
      [`/shared/sub/${canary}.txt`, canary],
      [`/${canary} outside.txt`, canary],
      ['/sharedly/a.txt', canary],
      ['/other/a.txt', canary],
      ['/other/sub/b.txt', canary],
      [`/other/${canary}.txt`, canary],
    ] as const)
      await put(ada, path, content)
    const disk = join(node.dataFolder, 'files', ada.user.uuid)
    await symlink(join(disk, `${canary} outside.txt`), join(disk, 'shared/link-file'))
    await symlink(join(disk, 'other'), join(disk, 'shared/link-folder'))
    const { url } = (await call(ada, '/api/shares', { path: '/shared', kind: 'read' })) as { url: string }
    // It is in the trash from now on.
    await call(ada, '/delete', { path: `/shared/sub/${canary}.txt` })
    const link = new URL(url).pathname

    let isMoving = true
    const moving = (async () => {
      while (isMoving) await disturb(ada, random)
    })()
    const counts: Record<string, number> = {}
    const guest = async (own: number) => {
      for (let sent = own; sent < requests; sent += atOnce) {
        const address = addressOf(link, random)
        const answer = await node.fetch(address, { ...requestOf(random), redirect: 'manual' })
        await check(answer, address)
        counts[answer.status] = (counts[answer.status] ?? 0) + 1
      }
    }
    try {
      await Promise.all(Array.from({ length: atOnce }, (_, own) => guest(own)))
    } finally {
      isMoving = false
      await moving
    }
    log(`answers: ${JSON.stringify(counts)}`)
    assert.ok((counts[200] ?? 0) > requests / 50, `some requests are answered: ${JSON.stringify(counts)}`)
    assert.equal(counts[500], undefined)
    assert.equal(await (await node.fetch(`${link}/file?path=/a.txt`)).text(), 'open')
  } finally {
    await node.stop()
  }
}

async function check(answer: Response, address: string): Promise<void> {
  const chunks: Uint8Array[] = []
  let isWhole = true
  try {
    for await (const chunk of answer.body ?? []) chunks.push(chunk)
  } catch {
    // An archive breaks off if its folder moves meanwhile. Its files are not compressed, so their words can be found.
    assert.ok(address.includes('/zip?'), `${address} broke off`)
    isWhole = false
  }
  const bytes = Buffer.concat(chunks)
  const texts = [bytes.toString('latin1'), JSON.stringify([...answer.headers])]
  if (
    isWhole &&
    bytes.length > 0 &&
    answer.status === 200 &&
    answer.headers.get('content-type') === 'application/zip'
  )
    for (const [name, content] of Object.entries(unzipSync(new Uint8Array(bytes))))
      texts.push(name, Buffer.from(content).toString('latin1'))
  // The page of an error does not repeat the address.
  for (const text of texts) assert.ok(!text.includes(canary), `${address} was answered with ${text}`)
}

/** Moves the shared folder away, lets another one be at its path for a while, and puts everything back. */
async function disturb(user: TestUser, random: Random): Promise<void> {
  const move = (source: string, destination: string) => call(user, '/move', { source, destination })
  switch (random.integer(0, 2)) {
    case 0:
      await move('/shared', '/away')
      await move('/other', '/shared')
      await move('/shared', '/other')
      await move('/away', '/shared')
      return
    case 1:
      await move('/shared/moving', '/moved')
      await move('/moved', '/shared/moving')
      return
    default:
      await put(user, '/shared/a.txt', 'open')
  }
}

function addressOf(link: string, random: Random): string {
  const below = Array.from({ length: random.integer(0, 4) }, () => `/${random.pick(parts)}`).join('')
  const known = random.pick(['/a.txt', '/sub/b.txt', '/sub', '/é', '', '/link-file', '/link-folder/a.txt'])
  const path = random.chance(0.4) ? known : below
  const query = new URLSearchParams({ path })
  if (random.chance(0.2)) query.set('after', random.pick(parts))
  if (random.chance(0.2)) query.set('view', random.pick(['grid', 'list']))
  if (random.chance(0.2)) query.set('size', random.pick(['small', 'large', 'huge']))
  return `${link}${random.pick(actions)}?${query}`
}

function requestOf(random: Random): RequestInit {
  const headers: Record<string, string> = {}
  if (random.chance(0.3))
    headers.range = random.pick([
      'bytes=0-1',
      'bytes=-1',
      'bytes=1-',
      'bytes=0-99999999999',
      'bytes=5-1',
      'x',
    ])
  if (random.chance(0.1)) headers['if-none-match'] = random.pick(['*', '"x"', 'W/"x"'])
  if (random.chance(0.1)) headers['if-range'] = random.pick(['"x"', 'Sun, 29 Nov 2026 12:00:00 GMT'])
  return { method: random.chance(0.1) ? 'HEAD' : 'GET', headers }
}

async function put(user: TestUser, path: string, content: string): Promise<void> {
  const answer = await user.fetch(`/write?path=${encodeURIComponent(path)}`, { method: 'PUT', body: content })
  assert.equal(answer.status, 200, await answer.text())
}

async function call(user: TestUser, path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const answer = await user.fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  const json = await answer.json()
  assert.equal(answer.status, 200, JSON.stringify(json))
  return json
}
