import type { TestUser } from '@nodekeep/kernel/testing'
import t from 'tap'
import { createQueueStand } from '../fixtures/queue-stand.ts'
import { callFile, post, told } from '../fixtures/wasm-node.ts'

/** Programs of a user, of which as many wait as may: further ones are refused. */
async function fill(user: TestUser, name: string) {
  const start = () => told(post(user, 'run', { filepath: '/m.wasm', args: ['hold', name] }))
  const answers = Array.from({ length: 4 }, start)
  const refused = answers.map(async (answer) => {
    const { status } = await answer
    if (status !== 429) throw new Error('It was run.')
  })
  await Promise.any(refused)
  return answers
}

t.test('programs wait for the places of their runtime, and people take turns', async (t) => {
  const { runtime, people } = await createQueueStand(t, { queuePerUser: 2 })
  const [ada, bob] = people
  const adas = await fill(ada, 'ada')
  const bobs = await fill(bob, 'bob')
  t.equal((await callFile(bob, '/m.wasm', 'same', [1])).status, 200, 'functions do not wait for programs')
  const order: unknown[] = []
  for (let count = 1; count <= 5; count += 1) {
    const { program, end } = await runtime.ran(count)
    order.push(program.args[1])
    t.equal(runtime.programs.length, count)
    end()
  }
  t.strictSame(order, ['ada', 'bob', 'ada', 'bob', 'ada'])
  await Promise.all([...adas, ...bobs])
})

t.test('a runtime without a place for programs is told of, and nothing waits for it', async (t) => {
  const { runtime, people } = await createQueueStand(t)
  for (const none of [0, -1, 0.5, Number.NaN]) {
    runtime.programsAtOnce = none
    t.match(await told(post(people[0], 'run', { filepath: '/m.wasm' })), {
      status: 503,
      body: { code: 'SERVICE_UNAVAILABLE', message: /runtime "scripted" has no place for programs/ },
    })
  }
  runtime.programsAtOnce = 1
  t.equal((await told(post(people[0], 'run', { filepath: '/m.wasm' }))).status, 200)
})

t.test('when the node stops, programs that wait are told so', async (t) => {
  const { runtime, node, people } = await createQueueStand(t, { queuePerUser: 2 })
  const answers = await fill(people[0], 'ada')
  const { end } = await runtime.ran(1)
  const stopped = node.stop()
  await Promise.any(
    answers.map(async (answer) => {
      if ((await answer).status !== 503) throw new Error('another one')
    }),
  )
  end()
  await stopped
  t.strictSame((await Promise.all(answers)).map(({ status }) => status).sort(), [200, 429, 503, 503])
})
