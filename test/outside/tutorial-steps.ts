/** One step of a tutorial. */
export type TutorialStep =
  | { readonly kind: 'write'; readonly path: string; readonly content: string }
  | { readonly kind: 'run'; readonly command: string }
  /** Compares the text with the output of the last command. */
  | { readonly kind: 'expect'; readonly output: string }

/**
 * Reads the steps of the section "Tutorial" of a page, from its code blocks. `sh` is run, line by line. Another block
 * is the file that the last line before it names, as in "write `package.json`:", or without one the output of the
 * last command.
 */
export function readTutorial(page: string): TutorialStep[] {
  const tutorial = /^## Tutorial\n(.*?)^## /ms.exec(page)?.[1] ?? ''
  return [...tutorial.matchAll(/([^\n]*)\n\n```(\w+)\n(.*?)^```$/gms)].flatMap(
    ([, before = '', language, content = '']): TutorialStep[] => {
      if (language === 'sh') {
        return content
          .trimEnd()
          .split('\n')
          .map((command) => ({ kind: 'run', command }))
      }
      if (/answers:$/.test(before)) return [{ kind: 'expect', output: content.trim() }]
      const path = [...before.matchAll(/`([^`]+\.\w+)`/g)].at(-1)?.[1]
      if (path === undefined) throw new Error(`No line before this block names its file:\n${content}`)
      return [{ kind: 'write', path, content }]
    },
  )
}
