import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, UserData, type UserDataHolder } from '@nodekeep/plugin-sdk'
import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import hello from '../src/index.ts'

const environment = { NODEKEEP_HELLO__LINK_KEY: 'a key of at least 32 characters, for tests' }

userDataConformance(test, {
  async setUp() {
    const dataFolder = await mkdtemp(join(tmpdir(), 'hello-'))
    let find: () => UserDataHolder | undefined = () => undefined
    const capture = definePlugin({
      id: 'capture',
      requires: { holders: UserData },
      setup({ holders }) {
        find = () => holders.get('hello')
      },
    })
    const start = () => createTestNode({ plugins: [hello, capture], environment, dataFolder })
    let node = await start()
    const paths = new Map<string, string[]>()
    return {
      get holder() {
        const holder = find()
        if (holder === undefined) throw new Error('The plugin has no holder.')
        return holder
      },
      async store() {
        const sender = await node.signIn()
        const sent: string[] = []
        for (const to of ['Grace', 'Linus']) {
          const body = JSON.stringify({ to, text: 'Happy birthday!' })
          const headers = { 'content-type': 'application/json' }
          const answer = await sender.fetch('/api/hello/cards', { method: 'POST', headers, body })
          sent.push(((await answer.json()) as { path: string }).path)
        }
        paths.set(sender.user.uuid, sent)
        return sender.user.uuid
      },
      async dataOf(userUuid) {
        const cards: unknown[] = []
        for (const path of paths.get(userUuid) ?? []) {
          const answer = await node.fetch(path)
          if (answer.ok) cards.push(await answer.json())
        }
        return cards
      },
      async restart() {
        await node.stop()
        node = await start()
      },
      async close() {
        await node.stop()
        await rm(dataFolder, { recursive: true })
      },
    }
  },
})
