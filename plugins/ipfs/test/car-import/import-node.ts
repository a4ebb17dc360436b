import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createTestNode, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { Test } from 'tap'
import ipfs from '../../src/index.ts'

export async function startedNode(t: Test, config: object = {}, dataFolder?: string): Promise<TestNode> {
  const node = await createTestNode({
    plugins: [ipfs],
    config: {
      plugins: { files: true, 'storage-memory': true },
      storage: { mounts: { '/': 'memory' } },
      ipfs: config,
    },
    ...(dataFolder === undefined ? {} : { dataFolder }),
  })
  t.teardown(() => node.stop())
  return node
}

export function importCar(
  user: TestUser,
  body: RequestInit['body'],
  query = 'path=/',
  init: RequestInit = {},
): Promise<Response> {
  const headers = { 'content-type': 'application/vnd.ipld.car' }
  return user.fetch(`/api/ipfs/import?${query}`, {
    method: 'POST',
    headers,
    body,
    duplex: 'half',
    ...init,
  } as RequestInit)
}

export const fixture = (name: string) =>
  readFile(new URL(`../fixtures/gateway-conformance/${name}`, import.meta.url))

export async function textOf(user: TestUser, path: string): Promise<string> {
  return (await user.fetch(`/read?path=${encodeURIComponent(path)}`)).text()
}

/** The paths below a folder. */
export async function listed(user: TestUser, path = '/'): Promise<string[]> {
  const answer = await user.fetch(`/api/files/list?path=${encodeURIComponent(path)}`)
  const { entries } = (await answer.json()) as { entries: { name: string; type: string }[] }
  const below = entries.map(async ({ name, type }) => {
    const entry = `${path === '/' ? '' : path}/${name}`
    return [entry, ...(type === 'directory' ? await listed(user, entry) : [])]
  })
  return (await Promise.all(below)).flat()
}

/** The folders that imports have left on the disk of the node. */
export async function spools(node: TestNode): Promise<string[]> {
  return readdir(join(node.dataFolder, 'plugins', 'ipfs', 'not-in-backups', 'imports')).catch(() => [])
}
