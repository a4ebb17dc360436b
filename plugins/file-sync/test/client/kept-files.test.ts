// In a process of its own: it follows real folders for longer than others.
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TestNode, TestUser } from '@nodekeep/kernel/testing'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import t, { type Test } from 'tap'
import { createSyncNode, send } from '../fixtures/sync-node.ts'
import { type RunningSync, syncFolder, temporaryFolder, tree, until } from './fixtures/synced-folders.ts'

/** All changes of the test are wanted. */
const deletionLimits = { files: 10_000, share: 1 }

const rounds = 12

/** Bytes of each file of the rounds. */
const fileSize = 500

/** The paths that all use. */
const paths = ['a', 'b', 'folder/a', 'folder/b', 'folder/inner/a']

function contentOf(place: string, round: number): string {
  return `${place} ${round} `.padEnd(fileSize, '.')
}

/** Whether a client has nothing to do but to wait for room. */
function isCalm({ status }: RunningSync): boolean {
  const { isIdle, trouble } = status()
  return isIdle || (trouble ?? '').includes('You may store')
}

/** The files of a user as the node has them, in the form of `tree`. */
async function treeOnNode(user: TestUser, folder = ''): Promise<string[]> {
  const { body } = await send(user, 'GET', `/readdir?path=/${encodeURIComponent(folder)}`)
  const lines = (body as NodeAnswers['GET /readdir']).map(async ({ name, type }) => {
    const path = folder === '' ? name : `${folder}/${name}`
    if (type === 'directory') return [path, ...(await treeOnNode(user, path))]
    return [`${path}: ${await (await user.fetch(`/read?path=/${encodeURIComponent(path)}`)).text()}`]
  })
  return (await Promise.all(lines)).flat().sort()
}

async function takenBy(user: TestUser): Promise<number> {
  const { body } = await send(user, 'GET', '/api/files/usage')
  return (body as NodeAnswers['GET /api/files/usage']).quota?.taken ?? 0
}

async function twoDevices(t: Test, node: TestNode, user: TestUser) {
  const device = async (deviceName: string) =>
    syncFolder(t, node, user, { folder: await temporaryFolder(t), deviceName, deletionLimits })
  const [one, two] = [await device('one'), await device('two')]
  return {
    one,
    two,
    /** Waits until the node and both devices have the same files. */
    async untilSame(): Promise<readonly string[]> {
      let same: readonly string[] = []
      await until(one, async () => {
        if (!one.status().isIdle || !two.status().isIdle) return false
        same = await treeOnNode(user)
        const own = [await tree(one.folder), await tree(two.folder)]
        return own.every((each) => JSON.stringify(each) === JSON.stringify(same))
      })
      return same
    },
  }
}

t.test('two devices end as the node, while their user deletes, restores and overwrites', async (t) => {
  // The changes of the user alone have no room.
  const quota = (rounds - 2) * fileSize
  const node = await createSyncNode({ config: { storage: { quota } } })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const user = await node.signIn()
  const { one, two, untilSame } = await twoDevices(t, node, user)
  const statuses: Record<string, Set<number>> = {}
  const note = (what: string, status: number) => {
    statuses[what] = (statuses[what] ?? new Set()).add(status)
  }
  const change = async (what: string, target: string, body: object) =>
    note(what, (await send(user, 'POST', target, body)).status)
  const onNode: ((path: string, round: number) => Promise<void>)[] = [
    async (path, round) => {
      const answer = await user.fetch(`/write?path=/${path}`, {
        method: 'PUT',
        body: contentOf('node', round),
      })
      await answer.arrayBuffer()
      note('overwrite', answer.status)
    },
    (path) => change('delete', '/delete', { path: `/${path}` }),
    async () => {
      const { body } = await send(user, 'GET', '/api/files/trash')
      const [item] = (body as NodeAnswers['GET /api/files/trash']).items
      if (item !== undefined) await change('restore', '/api/files/trash/restore', { id: item.id })
    },
    async (path) => {
      const { body } = await send(user, 'GET', `/api/files/versions?path=/${path}`)
      const id = (body as Partial<NodeAnswers['GET /api/files/versions']>).versions?.at(-1)?.id
      if (id !== undefined)
        await change('restore a version', '/api/files/versions/restore', { path: `/${path}`, id })
    },
  ]
  const onDevice: ((folder: string, path: string, round: number) => Promise<void>)[] = [
    async (folder, path, round) => {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), contentOf('device', round))
    },
    (folder, path) => rm(join(folder, path), { recursive: true }),
    (folder, path, round) => rename(join(folder, path), join(folder, `moved ${round}`)),
    (folder) => rm(join(folder, 'folder'), { recursive: true }),
  ]
  for (let round = 0; round < rounds; round += 1) {
    const path = (offset: number) => paths[(round + offset) % paths.length] ?? ''
    // Something may be gone, or be a folder, by what the clients have made.
    await Promise.allSettled([
      onDevice[0]?.(one.folder, path(0), round),
      onDevice[0]?.(two.folder, path(2), round),
      onNode[0]?.(path(1), round),
    ])
    // Other rounds meet the clients in the middle of their work.
    if (round % 3 === 0) await until(one, async () => [one, two].every(isCalm))
    for (const step of onNode.slice(1)) await step(path(round), round)
    await Promise.allSettled([
      onDevice[round % onDevice.length]?.(one.folder, path(3), round),
      onDevice[(round + 1) % onDevice.length]?.(two.folder, path(4), round),
    ])
  }
  await until(one, async () => [one, two].every(isCalm))
  for (const what of ['delete', 'restore']) t.ok(statuses[what]?.has(200), `the user has made a ${what}`)
  t.ok(statuses.overwrite?.has(507), 'the quota was full')
  const { status } = await send(owner, 'PUT', `/api/files/quotas/${user.user.uuid}`, { quota: 'none' })
  t.equal(status, 200)
  t.ok((await untilSame()).length > 0)
})

t.test('a full quota is a calm state of both devices, and heals when the trash is emptied', async (t) => {
  const node = await createSyncNode({ config: { storage: { quota: 20_000 } } })
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const { one, two, untilSame } = await twoDevices(t, node, user)
  await writeFile(join(one.folder, 'old'), 'o'.repeat(8000))
  await writeFile(join(two.folder, 'kept'), 'k'.repeat(8000))
  await untilSame()
  await rm(join(one.folder, 'old'))
  await until(one, async () => (await treeOnNode(user)).length === 1)
  t.equal(await takenBy(user), 16_000, 'the trash counts')
  await writeFile(join(one.folder, 'large'), 'l'.repeat(7000))
  await writeFile(join(two.folder, 'small'), 's')
  await until(one, async () => one.status().trouble !== null)
  t.match(one.status(), {
    isConnected: true,
    isIdle: false,
    trouble: /You may store 20 kB.*Delete files for good, empty the trash/,
  })
  t.equal(one.status().problems.size, 0)
  await until(two, async () => (await tree(one.folder)).includes('small: s'))
  t.match(two.status(), { isIdle: true, trouble: null }, 'the other device has no trouble')
  await send(user, 'POST', '/api/files/trash/empty', {})
  const same = await untilSame()
  t.strictSame(
    same.map((line) => line.slice(0, 8)),
    ['kept: kk', 'large: l', 'small: s'],
  )
  t.equal(one.status().trouble, null)
})
