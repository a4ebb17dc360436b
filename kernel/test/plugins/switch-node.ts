import {
  createTestNode,
  type PluginDescription,
  type TestNode,
  type TestNodeOptions,
} from '@nodekeep/kernel/testing'
import type { Plugin } from '@nodekeep/plugin-sdk'
import type { Test } from 'tap'

/** A test node whose owner is signed in, with what the tests of switching ask of it. */
export interface SwitchNode {
  readonly node: TestNode
  /** The owner's session, good for a later node on the same data too. */
  readonly token: string
  /** Asks as the owner. */
  ask(path: string, init?: RequestInit): Promise<Response>
  /** Calls `POST /api/system/plugins/:id/enable` or `disable`. */
  turn(id: string, action: 'enable' | 'disable'): Promise<Response>
  state(id: string): PluginDescription | undefined
}

export interface SwitchNodeOptions extends TestNodeOptions {
  /** Ids of the plugins that are not optional. */
  readonly required?: readonly string[]
  /** The owner's session at an earlier node. */
  readonly token?: string
}

/** Boots a node with plugins that are all optional, but for those that are named. */
export async function startSwitchNode(
  t: Test,
  plugins: readonly Plugin[],
  { required = [], token: earlier, config = {}, ...options }: SwitchNodeOptions = {},
): Promise<SwitchNode> {
  const wishes = Object.fromEntries(plugins.map(({ id }) => [id, { required: required.includes(id) }]))
  const node = await createTestNode({ plugins, config: { plugins: wishes, ...config }, ...options })
  t.teardown(() => node.stop())
  const token = earlier ?? (await node.signIn('owner')).token
  const ask = (path: string, init: RequestInit = {}) =>
    node.fetch(path, { ...init, headers: { authorization: `Bearer ${token}` } })
  return {
    node,
    token,
    ask,
    turn: (id, action) => ask(`/api/system/plugins/${id}/${action}`, { method: 'POST' }),
    state: (id) => node.plugins().find((plugin) => plugin.id === id),
  }
}
