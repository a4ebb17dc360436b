import { checkCircles } from './circles.ts'
import { checkDocumentation } from './documentation.ts'
import { checkFileShapes, type FileLengths } from './file-shape.ts'
import { checkImports } from './imports.ts'
import { checkAddresses, checkInstalls } from './installs.ts'
import { checkManifests } from './manifests.ts'
import { readPackages } from './packages.ts'
import { withProgram } from './program.ts'

/** The findings in a repository. */
export interface WallReport {
  readonly breaches: readonly string[]
  readonly lengths: FileLengths
}

/** Checks the rules of the house that neither the compiler nor the linter checks. */
export function checkWalls(root: string): WallReport {
  const packages = readPackages(root)
  return withProgram(root, (program) => {
    const shapes = checkFileShapes(
      root,
      program.files.map(({ file }) => file),
    )
    return {
      breaches: [
        ...checkImports(packages, program.files),
        ...checkCircles(packages, program.files),
        ...checkManifests(root, packages),
        ...checkInstalls(root),
        ...checkAddresses(root),
        ...checkDocumentation(packages, program),
        ...shapes.breaches,
      ],
      lengths: shapes.lengths,
    }
  })
}
