/** A stage of a Dockerfile. */
interface Stage {
  readonly image: string
  readonly name: string | null
  readonly instructions: readonly { readonly keyword: string; readonly text: string }[]
}

/** Reads the instructions of a Dockerfile by stage. */
export function readStages(text: string): Stage[] {
  const stages: { image: string; name: string | null; instructions: { keyword: string; text: string }[] }[] =
    []
  for (const line of text.replaceAll('\\\n', ' ').split('\n')) {
    const { keyword = '', rest = '' } = /^(?<keyword>[A-Z]+) +(?<rest>.*)$/.exec(line)?.groups ?? {}
    if (keyword === 'FROM') {
      const [image = '', , name = null] = rest.split(/ +/)
      stages.push({ image, name, instructions: [] })
    } else if (keyword !== '') {
      stages.at(-1)?.instructions.push({ keyword, text: rest })
    } else if (line !== '' && !line.startsWith('#')) {
      throw new Error(`The Dockerfile has the line "${line}".`)
    }
  }
  return stages
}

/** Returns the texts of the instructions of a kind. */
export function textsOf({ instructions }: Stage, keyword: string): string[] {
  return instructions.filter((instruction) => instruction.keyword === keyword).map(({ text }) => text)
}
