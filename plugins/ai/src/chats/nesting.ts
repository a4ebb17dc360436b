/** Levels of JSON that a request may have. Whoever writes or reads far more of them in one go runs out of stack. */
export const mostLevels = 100

/** Whether a value that was JSON is nested deeper than that. */
export function isDeep(value: unknown): boolean {
  let level = isNest(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > mostLevels) return true
    const below: object[] = []
    for (const nest of level) {
      for (const inner of Object.values(nest)) if (isNest(inner)) below.push(inner)
    }
    level = below
  }
  return false
}

/** The same for a text that should be JSON, without parsing it. */
export function isDeepText(text: string): boolean {
  let depth = 0
  let quoted = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at]
    if (character === '"') quoted = !quoted
    else if (character === '\\') at += 1
    else if (quoted) continue
    else if (character === '{' || character === '[') depth += 1
    else if (character === '}' || character === ']') depth -= 1
    if (depth > mostLevels) return true
  }
  return false
}

function isNest(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
