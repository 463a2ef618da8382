//! Tools that answer with a task. Tasks are kept in memory, and the suite checks every task state.

use std::future::ready;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, CreateTaskResult,
    ErrorData,
};
use rmcp::task_manager::{TaskContext, TaskExit, TaskFuture, TaskManager, TaskOptions};
use serde_json::{Value, json};

use super::fixtures::{of, result, said};
use super::rounds;

/// How long a job takes before it fails.
const SHORT: Duration = Duration::from_millis(500);

/// The answer from a task tool, or `None` for other tools.
pub(super) async fn call(
    manager: &TaskManager,
    request: &CallToolRequestParams,
    can: &ClientCapabilities,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let work: fn(TaskContext, Value) -> TaskFuture = match request.name.as_ref() {
        "slow_compute" => |context, arguments| Box::pin(computes(context, arguments)),
        "failing_job" => |_, _| Box::pin(fails()),
        "protocol_error_job" => |_, _| Box::pin(breaks()),
        "confirm_delete" => |context, _| Box::pin(confirms(context)),
        "multi_input" => |context, _| Box::pin(asks_twice(context)),
        "test_tool_with_task" => |_, arguments| Box::pin(ready(greets(&arguments))),
        _ => return None,
    };
    let mut arguments = Value::Object(request.arguments.clone().unwrap_or_default());
    if !can.supports_tasks() {
        if request.name == "slow_compute" {
            return Some(computed(&arguments).await.map(CallToolResponse::from));
        }
        let needed = ClientCapabilities::builder().enable_tasks().build();
        return Some(Err(ErrorData::missing_required_client_capability(needed)));
    }
    if request.name == "test_tool_with_task" {
        let answers = request.input_responses.as_ref();
        let Some(name) = rounds::answer(answers, "user_name", "/content/name") else {
            let question = rounds::elicits("What is your name?", "name");
            return Some(rounds::asks(json!({"user_name": question}), None));
        };
        arguments["name"] = name.into();
    }
    let options = TaskOptions::new().with_poll_interval_ms(100);
    let task = manager.spawn(options, |context| work(context, arguments));
    Some(Ok(CreateTaskResult::new(task).into()))
}

async fn computes(context: TaskContext, arguments: Value) -> Result<CallToolResult, TaskExit> {
    tokio::select! {
        computed = computed(&arguments) => computed.map_err(TaskExit::from),
        () = context.cancelled() => Err(TaskExit::Cancelled),
    }
}

async fn computed(arguments: &Value) -> Result<CallToolResult, ErrorData> {
    let seconds = arguments["seconds"].as_f64().unwrap_or_default().clamp(0.0, 600.0);
    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    said(&format!("computed for {seconds} s"))
}

async fn fails() -> Result<CallToolResult, TaskExit> {
    tokio::time::sleep(SHORT).await;
    let content = json!([{"type": "text", "text": "the job failed"}]);
    Ok(result(json!({"content": content, "isError": true}))?)
}

async fn breaks() -> Result<CallToolResult, TaskExit> {
    tokio::time::sleep(SHORT).await;
    Err(ErrorData::internal_error("the job broke", None).into())
}

async fn confirms(context: TaskContext) -> Result<CallToolResult, TaskExit> {
    let question = of(rounds::elicits("Delete it?", "confirm"))?;
    let answer = context.request_input("confirm", question).await?;
    Ok(said(&format!("answered: {answer}"))?)
}

async fn asks_twice(context: TaskContext) -> Result<CallToolResult, TaskExit> {
    let first = of(rounds::elicits("What is your name?", "name"))?;
    let second = of(rounds::elicits("What is your favorite color?", "color"))?;
    let (name, color) = tokio::try_join!(
        context.request_input("first", first),
        context.request_input("second", second),
    )?;
    Ok(said(&format!("answered: {name}, {color}"))?)
}

fn greets(arguments: &Value) -> Result<CallToolResult, TaskExit> {
    let name = arguments["name"].as_str().unwrap_or_default();
    Ok(said(&format!("Hello, {name}!"))?)
}
