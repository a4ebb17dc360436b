import { basename, join } from 'node:path'
import { API, type Diagnostic } from 'typescript/unstable/sync'

/** An error that the compiler reports. */
interface CompileError {
  /** The name of the file. */
  readonly file: string
  /** The line, counted from 1. */
  readonly line: number
  /** The code, such as `TS2339`. */
  readonly code: string
  /** The message and its explanations, one per line. */
  readonly message: string
}

/** Type-checks the project whose `tsconfig.json` is in a folder. */
export function compile(folder: string): CompileError[] {
  const api = new API({ cwd: folder })
  try {
    const [project] = api.updateSnapshot({ openProject: join(folder, 'tsconfig.json') }).getProjects()
    if (project === undefined) throw new Error(`There is no project in ${folder}.`)
    return project.rootFiles.flatMap((file) => {
      const source = project.program.getSourceFile(file)
      return project.program.getSemanticDiagnostics(file).map((diagnostic) => ({
        file: basename(file),
        line: 1 + (source?.getLineAndCharacterOfPosition(diagnostic.pos).line ?? 0),
        code: `TS${diagnostic.code}`,
        message: texts(diagnostic).join('\n'),
      }))
    })
  } finally {
    api.close()
  }
}

function texts({ text, messageChain = [] }: Diagnostic): string[] {
  return [text, ...messageChain.flatMap(texts)]
}
