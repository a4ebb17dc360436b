import {
  createTestNode,
  type PluginDescription,
  type TestNode,
  type TestNodeOptions,
} from '@nodekeep/kernel/testing'
import type { Plugin } from '@nodekeep/plugin-sdk'
import type { Test } from 'tap'

/** A test node with a signed-in owner, for tests that enable and disable plugins. */
interface SwitchNode {
  readonly node: TestNode
  /** The owner's session. It is valid for a later node on the same data too. */
  readonly token: string
  /** Sends a request as the owner. */
  ask(path: string, init?: RequestInit): Promise<Response>
  /** Calls `POST /api/system/plugins/:id/enable` or `disable`. */
  switchPlugin(id: string, action: 'enable' | 'disable'): Promise<Response>
  state(id: string): PluginDescription | undefined
}

interface SwitchNodeOptions extends TestNodeOptions {
  /** Ids of the required plugins. */
  readonly required?: readonly string[]
  /** The owner's session from an earlier node. */
  readonly token?: string
}

/** Starts a node whose plugins are optional, except those in `required`. */
export async function startSwitchNode(
  t: Test,
  plugins: readonly Plugin[],
  { required = [], token: earlier, config = {}, ...options }: SwitchNodeOptions = {},
): Promise<SwitchNode> {
  const sections = Object.fromEntries(plugins.map(({ id }) => [id, { required: required.includes(id) }]))
  const node = await createTestNode({ plugins, config: { plugins: sections, ...config }, ...options })
  t.teardown(() => node.stop())
  const token = earlier ?? (await node.signIn('owner')).token
  const ask = (path: string, init: RequestInit = {}) =>
    node.fetch(path, { ...init, headers: { authorization: `Bearer ${token}` } })
  return {
    node,
    token,
    ask,
    switchPlugin: (id, action) => ask(`/api/system/plugins/${id}/${action}`, { method: 'POST' }),
    state: (id) => node.plugins().find((plugin) => plugin.id === id),
  }
}
