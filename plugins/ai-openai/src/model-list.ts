/**
 * Reads the answer of `GET /models`: by OpenAI's form `{ "data": [{ "id" }] }`. Other servers have the list itself, call
 * it `models`, or name models by `name` or alone.
 *
 * @throws Error when it has no list
 */
export function readModels(answer: unknown): string[] {
  const list = [answer, property(answer, 'data'), property(answer, 'models')].find(Array.isArray)
  if (list === undefined) throw new Error('The answer has no list of models.')
  const names = list.map((model: unknown) =>
    typeof model === 'string' ? model : (property(model, 'id') ?? property(model, 'name')),
  )
  return [...new Set(names.filter((name): name is string => typeof name === 'string' && name !== ''))]
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
}
