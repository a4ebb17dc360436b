import assert from 'node:assert/strict'

/** Waits for what should come at once. Only who never answers makes it wait to the end, which is an error then. */
export async function soon<T>(awaited: Promise<T>, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: otherwise })), 5000)
  })
  return Promise.race([awaited, late]).finally(() => clearTimeout(timer))
}
