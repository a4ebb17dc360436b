import { setTimeout } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { callFile, post, readAnswer } from '../fixtures/wasm-node.ts'

/** Starts programs of a user until the user's queue is full and a program is refused. */
async function fill(user: TestUser, name: string) {
  const start = () => readAnswer(post(user, 'run', { filepath: '/m.wasm', args: ['hold', name] }))
  const answers = Array.from({ length: 4 }, start)
  const refused = answers.map(async (answer) => {
    const { status } = await answer
    if (status !== 429) throw new Error('The program was run.')
  })
  await Promise.any(refused)
  return answers
}

t.test('programs wait for the slots of their runtime, and users take turns', async (t) => {
  const { runtime, users } = await createQueueNode(t, { queuePerUser: 2 })
  const [ada, bob] = users
  const adas = await fill(ada, 'ada')
  const bobs = await fill(bob, 'bob')
  t.equal((await callFile(bob, '/m.wasm', 'same', [1])).status, 200, 'functions do not wait for programs')
  const order: unknown[] = []
  for (let count = 1; count <= 5; count += 1) {
    const { program, end } = await runtime.waitForProgram(count)
    order.push(program.args[1])
    t.equal(runtime.programs.length, count)
    // A little more than the time of a turn.
    await setTimeout(310)
    end()
  }
  t.strictSame(order, ['ada', 'bob', 'ada', 'bob', 'ada'])
  await Promise.all([...adas, ...bobs])
})

t.test('a program is refused at once if the runtime has no slots for programs', async (t) => {
  const { runtime, users } = await createQueueNode(t)
  for (const none of [0, -1, 0.5, Number.NaN]) {
    runtime.programsAtOnce = none
    t.match(await readAnswer(post(users[0], 'run', { filepath: '/m.wasm' })), {
      status: 503,
      body: { code: 'SERVICE_UNAVAILABLE', message: /runtime "scripted" has no slots for programs/ },
    })
  }
  runtime.programsAtOnce = 1
  t.equal((await readAnswer(post(users[0], 'run', { filepath: '/m.wasm' }))).status, 200)
})

t.test('programs that wait are refused when the node stops', async (t) => {
  const { runtime, node, users } = await createQueueNode(t, { queuePerUser: 2 })
  const answers = await fill(users[0], 'ada')
  const { end } = await runtime.waitForProgram(1)
  const stopped = node.stop()
  await Promise.any(
    answers.map(async (answer) => {
      if ((await answer).status !== 503) throw new Error('the answer is not 503')
    }),
  )
  end()
  await stopped
  t.strictSame((await Promise.all(answers)).map(({ status }) => status).sort(), [200, 429, 503, 503])
})
