import t from 'tap'
import { startClient } from './fixtures/openai-client.ts'

const question = { role: 'user' as const, content: 'What is the weather?' }
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

t.test('the options of a client reach the server as far as its wire supports them', async (t) => {
  const { completions, last } = await startClient(t)
  const expected: Record<keyof typeof last, object> = {
    'openai/gpt-small': {
      seed: 7,
      frequency_penalty: 0.5,
      presence_penalty: -0.5,
      reasoning_effort: 'none',
      parallel_tool_calls: false,
      tools: [{ type: 'function', function: { name: 'look', parameters: schema, strict: true } }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'sum', description: 'A sum.', schema, strict: true },
      },
    },
    'anthropic/claude-sonnet-5-5': {
      tools: [{ name: 'look', input_schema: schema, strict: true }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      output_config: {
        format: { type: 'json_schema', schema: { ...schema, description: 'A sum.' } },
        effort: 'low',
      },
    },
    'ollama/llama3.2:latest': {
      options: { seed: 7, frequency_penalty: 0.5, presence_penalty: -0.5 },
      tools: [{ type: 'function', function: { name: 'look', parameters: schema } }],
      format: schema,
      think: false,
    },
  }
  for (const [model, body] of Object.entries(expected)) {
    await completions.create({
      model,
      messages: [question],
      seed: 7,
      frequency_penalty: 0.5,
      presence_penalty: -0.5,
      reasoning_effort: 'none',
      tools: [{ type: 'function', function: { name: 'look', parameters: schema, strict: true } }],
      parallel_tool_calls: false,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'sum', description: 'A sum.', schema, strict: true },
      },
    })
    t.match(last[model as keyof typeof last](), body, model)
  }
})

t.test('the parts of a text reach every server separately', async (t) => {
  const { completions, last } = await startClient(t)
  const content = [
    { type: 'text' as const, text: 'Be brief.' },
    { type: 'text' as const, text: 'Be kind.' },
  ]
  const lines = 'Be brief.\nBe kind.'
  const expected: Record<keyof typeof last, object> = {
    'openai/gpt-small': {
      messages: [
        { role: 'system', content },
        { role: 'user', content },
        { role: 'assistant', content: lines },
      ],
    },
    'anthropic/claude-sonnet-5-5': {
      system: content,
      messages: [{ role: 'user', content }, { role: 'assistant' }],
    },
    'ollama/llama3.2:latest': {
      messages: [
        { role: 'system', content: lines },
        { role: 'user', content: lines },
        { role: 'assistant', content: lines },
      ],
    },
  }
  for (const [model, body] of Object.entries(expected)) {
    await completions.create({
      model,
      messages: [
        { role: 'system', content },
        { role: 'user', content },
        { role: 'assistant', content },
        question,
      ],
    })
    t.match(last[model as keyof typeof last](), body, model)
  }
})

t.test('every provider writes the deepest JSON that the node accepts', async (t) => {
  const { completions, last } = await startClient(t)
  const chat = (model: string, levels: number) => {
    const parameters = nested(levels)
    const call = { name: 'look', arguments: JSON.stringify(parameters) }
    return completions.create({
      model,
      messages: [
        question,
        { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
        { role: 'tool', tool_call_id: 'call_1', content: 'fog' },
      ],
      tools: [{ type: 'function', function: { name: 'look', parameters, strict: true } }],
      response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: parameters } },
    })
  }
  for (const [model, body] of Object.entries(last)) {
    t.equal((await chat(model, 100)).choices[0]?.finish_reason, 'stop', model)
    t.equal(JSON.stringify(body()).split('deepest').length, 4, 'the schemas and the call are complete')
    await t.rejects(chat(model, 101), { status: 400, code: 'VALIDATION_ERROR' }, model)
  }
})

/** Returns a schema of nested objects with the given number of JSON levels. */
function nested(levels: number): Record<string, unknown> {
  let value: Record<string, unknown> = { type: 'string', title: 'deepest' }
  let depth = 1
  for (; depth + 2 <= levels; depth += 2) value = { type: 'object', properties: { a: value } }
  return depth === levels ? value : { ...value, examples: nestedList(levels - 1) }
}

function nestedList(levels: number): unknown[] {
  let value: unknown[] = []
  for (let depth = 1; depth < levels; depth += 1) value = [value]
  return value
}
