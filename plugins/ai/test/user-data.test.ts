import { userDataConformance } from '@nodekeep/plugin-sdk/conformance/user-data'
import t from 'tap'
import { chat, createAiNode, usageOf } from './fixtures/ai-node.ts'
import { captureChats } from './fixtures/captured-chats.ts'
import { scripted, stop, text, usage } from './fixtures/scripted-provider.ts'

userDataConformance(t.test, {
  async setUp() {
    const dataFolder = t.testdir()
    const acme = scripted(() => [text('x'), usage(2, 3), stop])
    const start = async () => {
      const captured = captureChats()
      const node = await createAiNode({ providers: { acme }, dataFolder, plugins: [captured.plugin] })
      return { node, captured, owner: await node.signIn('owner') }
    }
    let running = await start()
    return {
      get holder() {
        const holder = running.captured.userData.get('ai')
        if (holder === undefined) throw new Error('"ai" has no holder of user data.')
        return holder
      },
      async store() {
        const user = await running.node.signIn()
        for (const model of ['large', 'small']) await (await chat(user, { model })).text()
        return user.user.uuid
      },
      dataOf: (userUuid) => usageOf(running.owner, `?user=${userUuid}`),
      async restart() {
        await running.node.stop()
        running = await start()
      },
      close: () => running.node.stop(),
    }
  },
})
