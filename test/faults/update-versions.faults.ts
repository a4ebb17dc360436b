import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { contractDatabase, expandDatabases, staleTables } from '../update/expanded-release.ts'
import type { InstalledNode } from '../update/installed-node.ts'
import type { ReleaseServer } from '../update/release-server.ts'
import type { Fault, Round } from './fault.ts'
import { nextVersion, onInstalledNode } from './fixtures/node-of-round.ts'
import { type Random, randomOf } from './random.ts'
import { ask, type SignedInUser, type UserView, VersionClient } from './version-client.ts'

/** Changes in each of the four phases, of all clients together. */
const changesPerPhase = 10_000
const clientCount = 4
/** Changes of files and tokens before each change of a user, such as another name. */
const changesPerUserChange = 50

/** The users that only the owner changes. */
const changedUsers = ['grace', 'hedy']

/** Everything that the node tells its users. */
interface View {
  readonly users: readonly unknown[]
  readonly clients: readonly UserView[]
}

async function changeTo(node: InstalledNode, next: 'update' | 'back', signal: AbortSignal): Promise<void> {
  const count = (await node.history()).length
  const path = next === 'update' ? '/api/update/install' : '/api/update/back'
  const { status, body } = await node.ask<{ message: string }>(path, { method: 'POST' })
  assert.equal(status, 200, body.message)
  const { result, reason } = await node.attempt(count + 1, signal)
  assert.equal(result, next === 'update' ? 'installed' : 'went back', reason ?? '')
  await node.answers(signal)
}

/** Installs a version that takes away what a former one needs. The node says so before, and asks. */
async function installForGood(
  node: InstalledNode,
  server: ReleaseServer,
  signal: AbortSignal,
): Promise<void> {
  const version = nextVersion()
  await server.publish(version, contractDatabase)
  const count = (await node.history()).length
  const { status, body } = await node.update()
  assert.equal(status, 409, body.message)
  assert.match(body.message, /there is no way back to version/)
  assert.equal((await details(node)).withoutWayBack, version)
  const install = '/api/update/install?withoutWayBack=true'
  assert.equal((await node.ask(install, { method: 'POST' })).status, 200)
  const { result, reason } = await node.attempt(count + 1, signal)
  assert.equal(result, 'installed', reason ?? '')
  await node.answers(signal)
  assert.equal((await details(node)).wayBack, null)
  assert.equal((await node.ask('/api/update/back', { method: 'POST' })).status, 409)
}

async function details(node: InstalledNode): Promise<{ wayBack: unknown; withoutWayBack: unknown }> {
  return (await node.ask<{ wayBack: unknown; withoutWayBack: unknown }>('/api/update/details')).body
}

/** Renames, disables, enables, deletes and restores users as the owner. */
async function changeUsers(node: InstalledNode, random: Random, count: number): Promise<void> {
  const { body } = await node.ask<{ users: { uuid: string; username: string }[] }>('/api/users')
  const uuids = body.users.filter(({ username }) => /^(grace|hedy)/.test(username)).map(({ uuid }) => uuid)
  const [first = '', ...others] = uuids
  for (let made = 0; made < count; made += 1) {
    const uuid = random.pick([first, ...others])
    const name = uuid === first ? 'grace' : 'hedy'
    const change = random.pick<object>([
      { username: `${name}${random.integer(1, 1000)}` },
      { disabled: true },
      { disabled: false },
    ])
    const init: RequestInit = random.chance(0.2)
      ? { method: 'DELETE' }
      : {
          method: 'PATCH',
          body: JSON.stringify(change),
          headers: { 'content-type': 'application/json' },
        }
    const { status, body } = await node.ask<unknown>(`/api/users/${uuid}`, init)
    assert.equal(status, 200, JSON.stringify(body))
  }
}

/** Adds a user on the machine, and signs them in. */
async function signIn(node: InstalledNode, username: string, index: number): Promise<SignedInUser> {
  const { PATH } = process.env
  const run = async (...args: string[]) => {
    const options = { cwd: node.folder, env: { PATH, HOME: join(node.folder, 'home') } }
    return (await promisify(execFile)(join(node.releases, 'current/bin/nodekeep'), args, options)).stdout
  }
  await run('user', 'add', `0x${String(index + 1).padStart(40, '0')}`, '--username', username)
  const token = /nks_\S+/.exec(await run('session', 'create', '--user', username))?.[0] ?? ''
  const { user } = await ask<{ user: { uuid: string } }>(node.url, token, '/whoami')
  return { uuid: user.uuid, token }
}

export default {
  name: 'Files, changes, users, sessions and tokens are the same in a version that expands all databases, after the way back, and after the next update.',
  defaultRounds: 1,
  roundSeconds: 3600,
  async round(round: Round) {
    const { seed, random, signal, log } = round
    await onInstalledNode(round, {}, async (node, server) => {
      const version = nextVersion()
      await server.publish(version, expandDatabases)
      const people: SignedInUser[] = []
      for (let index = 0; index < clientCount; index += 1)
        people.push(await signIn(node, `ada${index}`, index))
      for (const [index, name] of changedUsers.entries()) await signIn(node, name, clientCount + index)
      const clients = await Promise.all(
        people.map((user, index) =>
          VersionClient.begin(node.url, user, randomOf(seed * clientCount + index)),
        ),
      )
      const view = async (): Promise<View> => {
        const { body } = await node.ask<{ users: object[] }>('/api/users')
        // The requests of this round change when its users were last seen.
        const users = body.users.map((user) => ({ ...user, lastSeen: null }))
        return { users, clients: await Promise.all(clients.map((client) => client.view())) }
      }
      const data = join(node.folder, 'data')
      let before = await view()
      let expanded = false
      for (const next of ['stay', 'update', 'back', 'update'] as const) {
        if (next !== 'stay') {
          await changeTo(node, next, signal)
          expanded = next === 'update'
          assert.equal(await node.version(), expanded ? version : '0.1.0')
          assert.deepEqual(await view(), before, `the versions differ after "${next}"`)
          if (expanded) assert.deepEqual(staleTables(data), [], 'tables are stale at the start')
        }
        const began = performance.now()
        await Promise.all([
          ...clients.map((client) => client.change(changesPerPhase / clientCount)),
          changeUsers(node, random, changesPerPhase / changesPerUserChange),
        ])
        const seconds = Math.round((performance.now() - began) / 1000)
        log(`${changesPerPhase} changes after "${next}" took ${seconds} s.`)
        await clients[0]?.writeOutside(data)
        const after = await view()
        for (const [index, { changes }] of before.clients.entries())
          assert.deepEqual(
            after.clients[index]?.changes.slice(0, changes.length),
            changes,
            'the feed was changed',
          )
        // The former version knows none of these tables, so only triggers keep them.
        if (next !== 'stay') assert.deepEqual(staleTables(data), expanded ? [] : ['heads'])
        before = after
      }
      // A version that was just installed is watched, and no other one is installed meanwhile.
      await changeTo(node, 'back', signal)
      await installForGood(node, server, signal)
      assert.deepEqual(await view(), before)
    })
  },
} satisfies Fault
