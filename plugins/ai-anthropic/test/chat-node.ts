import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { type AiProvider, AiProviders, definePlugin, type RegistryReader } from '@nodekeep/plugin-sdk'
import type { Test } from 'tap'
import aiAnthropic from '../src/index.ts'
import { type AnthropicServer, key, startAnthropicServer } from './anthropic-server.ts'

/** A node with the plugin, and the server that the plugin calls. */
interface ChatNode {
  readonly node: TestNode
  readonly server: AnthropicServer
  /** The provider `anthropic`. */
  readonly provider: AiProvider
  readonly providers: RegistryReader<AiProvider>
  /** All lines of the node's log, at the level `trace`. */
  readonly log: string[]
  close(): Promise<void>
}

/**
 * Starts a node with the plugin and its server.
 *
 * @param section changes to the plugin's configuration
 */
export async function startChatNode(section: object = {}): Promise<ChatNode> {
  const server = await startAnthropicServer()
  const config = { 'ai-anthropic': { apiKey: key, baseURL: server.url, ...section } }
  const started = await startNode(config).catch(async (error) => {
    await server.stop()
    throw error
  })
  const provider = started.providers.get('anthropic')
  if (provider === undefined) throw new Error('The plugin did not add "anthropic".')
  return {
    ...started,
    server,
    provider,
    async close() {
      await started.node.stop()
      await server.stop()
    },
  }
}

/** Starts a node with the plugin and this configuration, and returns its providers. */
export async function startNode(config: Record<string, unknown>, environment: Record<string, string> = {}) {
  let providers: RegistryReader<AiProvider> | undefined
  const reader = definePlugin({
    id: 'reader',
    requires: { all: AiProviders },
    setup({ all }) {
      providers = all
    },
  })
  const log: string[] = []
  const node = await createTestNode({
    plugins: [aiAnthropic, reader],
    config,
    environment,
    logLevel: 'trace',
    onLog: (line) => log.push(line),
  })
  if (providers === undefined) throw new Error('Nobody read the registry.')
  return { node, providers, log }
}

/** Starts a chat node that closes when the test ends. */
export async function createChatNode(t: Test, section: object = {}): Promise<ChatNode> {
  const started = await startChatNode(section)
  t.teardown(() => started.close())
  return started
}
